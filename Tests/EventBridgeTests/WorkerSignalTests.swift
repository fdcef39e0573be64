import DomainEvents
import EventBridge
import ExampleDomain
import Supervision
import TestSupport
import Testing

@Suite("Workers that are killed, stopped, or busy", .serialized, .timeLimit(.minutes(5)))
struct WorkerSignalTests {
    private let publisher = EventPublisher()

    private func pid(of worker: String, in bridge: BridgeHost) throws -> Int32 {
        try #require(bridge.status.first { $0.name == worker }?.pid)
    }

    @Test("A1: a worker killed while idle is reaped, told with its signal, and replaced")
    func killedWhileIdle() async throws {
        let reports = WorkerReports(publisher)
        let bridge = try BridgeHost(publisher: publisher, workers: [faulty("none", subscribes: [WorkRequested.self])])
        try await bridge.start()
        let first = try pid(of: "faulty", in: bridge)
        #expect(ProcessSignal.kill(first))
        await reports.ready.wait { $0.count == 2 }
        #expect(reports.exits.all.map(\.reason) == ["killed by SIGKILL (9)"])
        #expect(reports.exits.all.first?.pid == first)
        #expect(bridge.status.first?.deaths.count == 1)
        // A zombie could still be signalled.
        #expect(!ProcessSignal.isAlive(first))
        await bridge.shutdown()
        reports.end()
    }

    @Test("C2: a worker that reads nothing makes send wait, its siblings go on, and it gets all when it is replaced")
    func readsNothing() async throws {
        let done = Collected<WorkDone>()
        let sent = Collected<Int64>()
        let subscription = publisher.subscribe(to: WorkDone.self) { done.add($0) }
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty("none", name: "stuck", subscribes: [WorkRequested.self], limits: WorkerLimits(outbox: 64 << 10)),
                faulty("none", name: "sound", subscribes: [WorkRequested.self]),
            ]
        )
        try await bridge.start()
        let stuck = try pid(of: "stuck", in: bridge)
        #expect(try await ProcessSignal.stopEntirely(stuck))
        let producer = Task { [publisher] in
            let filler = String(repeating: "x", count: 1_000)
            for number: Int64 in 0..<200 {
                try await publisher.send(WorkRequested(number: number, text: filler))
                sent.add(number)
            }
        }
        await sent.wait { $0.count > 60 }
        for number: Int64 in 1_000..<1_500 { publisher.publish(WorkRequested(number: number, text: "")) }
        // All of these are from the sound worker.
        await done.wait { $0.last?.number == 1_499 }
        #expect(sent.all.count <= 66)
        #expect(ProcessSignal.kill(stuck))
        try await producer.value
        await done.wait { $0.count >= 2 * 700 }
        await bridge.waitUntilIdle()
        let all = Dictionary(grouping: done.all, by: \.number).values
        #expect(all.count == 700)
        // Once by each worker; an event that the stopped worker had just begun came again, with a higher attempt.
        #expect(all.allSatisfy { $0.count == 2 || ($0.count == 3 && $0.contains { $0.attempt > 1 }) })
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("A10: a handler that keeps a processor busy is no missed heartbeat; a stopped worker beside it is")
    func busyHandler() async throws {
        let reports = WorkerReports(publisher)
        let heartbeat = Heartbeat(every: .milliseconds(100), tolerance: 30)
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [
                faulty(
                    "spin",
                    name: "busy",
                    heartbeat: heartbeat,
                    shutdown: .draining(grace: .milliseconds(10), terminate: .milliseconds(10)),
                    subscribes: [WorkRequested.self]
                ),
                faulty("none", name: "stopped", heartbeat: heartbeat, subscribes: []),
            ]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: ""))
        // The time of two silences that were found also passes for the busy worker.
        for round in 1...2 {
            #expect(ProcessSignal.stop(try pid(of: "stopped", in: bridge)))
            await reports.ready.wait { $0.count == 2 + round }
        }
        #expect(reports.exits.all.map(\.worker) == ["stopped", "stopped"])
        #expect(reports.exits.all.allSatisfy { $0.reason.contains("gave no sign of life") })
        await bridge.shutdown()
        reports.end()
    }
}
