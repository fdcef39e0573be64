import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import FoundationEssentials
import TestSupport
import Testing

/// Events that go through memory which host and worker share, with real processes.
@Suite("Large events", .serialized)
struct LargeEventTests {
    /// A text far above the size from which events are placed, different in each event.
    private static func text(_ number: Int64, _ count: Int = 100_000) -> String {
        String(repeating: "text of \(number), ", count: count / 14 + 1)
    }

    /// A worker that is killed while the large events of its host fill all of the memory for them; `check` checks the
    /// results.
    private static func killWithAllMemoryTaken(_ check: ([WorkDone], WorkerReports) -> Void) async throws {
        let publisher = EventPublisher()
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        let worker = try #require(reports.ready.all.first?.pid)
        #expect(try await ProcessSignal.stopEntirely(worker))
        // 15 MB, of which the window lets out one; the memory for large events has 8 MB.
        for number: Int64 in 1...150 { publisher.publish(WorkRequested(number: number, text: text(number))) }
        #expect(ProcessSignal.kill(worker))
        await reports.exits.wait { $0.count == 1 }
        await reports.ready.wait { $0.count == 2 }
        for number: Int64 in 151...160 { publisher.publish(WorkRequested(number: number, text: text(number))) }
        await reports.done.wait { $0.count == 160 }
        await bridge.waitUntilIdle()
        check(reports.done.all, reports)
        await bridge.shutdown()
        reports.end()
    }

    @Test(
        "N13: a worker killed while it holds all of the memory for large events: each comes again",
        .timeLimit(.minutes(5))
    )
    func killed() async throws {
        try await Self.killWithAllMemoryTaken { done, reports in
            #expect(done.map(\.number) == Array(1...160))
            #expect(done.allSatisfy { $0.text == Self.text($0.number) })
            #expect(reports.deadLettered.all.isEmpty && reports.dropped.all.isEmpty && reports.exits.all.count == 1)
        }
    }

    @Test("N8: a host whose workers were killed over large events keeps none of their memory", .timeLimit(.minutes(5)))
    func nothingIsLeft() async {
        await #expect(processExitsWith: .success) {
            try await Self.killWithAllMemoryTaken { _, _ in }
            let before = try Possessions()
            for _ in 0..<3 { try await Self.killWithAllMemoryTaken { _, _ in } }
            let deadline = MonotonicClock.now() + 120_000_000_000
            while try !Possessions().isWithin(before) || hasMemoryFile(), MonotonicClock.now() < deadline {
                await Task.yield()
            }
            guard try Possessions().isWithin(before), !hasMemoryFile() else {
                CurrentProcess.report("before: \(before); after: \(try Possessions()), \(hasMemoryFile())")
                CurrentProcess.exitImmediately(1)
            }
        }
    }
}
