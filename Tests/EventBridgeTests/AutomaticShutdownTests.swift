import DomainEvents
import EventBridge
import ExampleDomain
import Supervision
import TestSupport
import Testing

@Suite("Significant workers as processes", .serialized)
struct AutomaticShutdownTests {
    private let publisher = EventPublisher()

    @Test("The normal end of a significant worker drains and stops all, and says so", .timeLimit(.minutes(5)))
    func jobEndsAll() async throws {
        let reports = WorkerReports(publisher)
        let endings = Collected<BridgeEnding>()
        let subscription = publisher.subscribe(to: BridgeEnding.self) { endings.add($0) }
        var job = faulty("exit-on:finish", name: "job", restart: .transient, subscribes: [WorkRequested.self])
        job.child.isSignificant = true
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", name: "keeper", subscribes: [WorkRequested.self]), job],
            automaticShutdown: .anySignificant,
            startOrder: .inSequence
        )
        try await bridge.start()
        #expect(reports.ready.all.map(\.worker) == ["keeper", "job"])
        publisher.publish(WorkRequested(number: 1, text: "finish"))
        await bridge.waitUntilStopped()
        #expect(bridge.status.map(\.state) == [.stopped, .stopped])
        #expect(endings.all.map(\.worker) == ["job"])
        #expect(reports.exits.all.map(\.worker) == ["job", "keeper"])
        #expect(reports.exits.all.map(\.wasAsked) == [false, true])
        // The keeper handled the events that it had got before, because it was asked to drain.
        #expect(reports.done.all.map(\.number) == [1])
        await bridge.shutdown()
        withExtendedLifetime(subscription) { reports.end() }
    }

    @Test(
        "What the others had accepted by then is handled, though it is more than is sent at once",
        .timeLimit(.minutes(5))
    )
    func acceptedIsHandled() async throws {
        let reports = WorkerReports(publisher)
        var job = faulty("exit-on:finish", name: "job", restart: .transient, subscribes: [WorkRequested.self])
        job.child.isSignificant = true
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("slow:1ms", name: "keeper", subscribes: [WorkRequested.self]), job],
            automaticShutdown: .anySignificant
        )
        try await bridge.start()
        // Three megabytes, of which at most one is on its way.
        let text = String(repeating: "x", count: 100_000)
        for number: Int64 in 1...30 { publisher.publish(WorkRequested(number: number, text: text)) }
        publisher.publish(WorkRequested(number: 31, text: "finish"))
        await bridge.waitUntilStopped()
        let report = await bridge.shutdown()
        #expect(report.leftovers.filter { $0.worker == "keeper" } == [])
        #expect(reports.done.all.count == 61)
        reports.end()
    }

    @Test("A significant worker in a bridge that it could not end is refused with a sentence")
    func refused() throws {
        var job = faulty("none", name: "job", subscribes: [])
        job.child.isSignificant = true
        let error = #expect(throws: BridgeError.self) { try BridgeHost(publisher: publisher, workers: [job]) }
        #expect(error?.code == .invalidSpecification)
        #expect(error?.description.split(separator: "\n").count == 2)
    }
}
