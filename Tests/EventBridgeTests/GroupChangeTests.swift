import BridgeTransport
import DomainEvents
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

@testable import EventBridge

/// Changes of a worker while its group goes down: the crate-maker has ended, the porter does not finish, and the clerk,
/// which comes before both, waits for its turn to be stopped.
@Suite("A worker that waits for its turn to go down with its group", .timeLimit(.minutes(5)))
struct GroupChangeTests {
    private let publisher = EventPublisher()
    private let gate = ErrandGate()
    private let entered = Collected<Void>()
    private let seen = Collected<Int>()

    /// A worker whose first process handles errands, and whose next process has other handlers, too.
    private func clerk(onDemand: OnDemand? = nil) -> InMemoryWorker {
        let starts = Collected<Void>()
        return InMemoryWorker("clerk", subscribes: [ErrandGiven.self], onDemand: onDemand) { [seen] publisher in
            starts.add(())
            let given = publisher.subscribe(to: ErrandGiven.self) { (errand: ErrandGiven) in }
            guard starts.count > 1 else { return [given] }
            return [given, publisher.subscribe(to: ErrandDone.self) { seen.add($0.number) }]
        }
    }

    /// The specification of the clerk's next process.
    private func next(_ clerk: InMemoryWorker) -> WorkerSpecification {
        var specification = clerk.specification
        specification.subscribes = [ErrandGiven.eventName, ErrandDone.eventName]
        return specification
    }

    /// Starts the bridge, and brings the group to the point where the clerk waits for its turn.
    private func bridge(_ clerk: InMemoryWorker, intensity: RestartIntensity) async throws -> BridgeHost {
        let porter = InMemoryWorker(
            "porter",
            subscribes: [ErrandReport.self],
            shutdown: .draining(grace: patience)
        ) { [gate, entered] publisher in
            [
                publisher.subscribe(to: ErrandReport.self) { _ in
                    entered.add(())
                    gate.block()
                }
            ]
        }
        let maker = InMemoryWorker("crate-maker", backoff: .exponential(from: .milliseconds(1))) { _ in [] }
        let workers = [clerk, porter, maker]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            strategy: .oneForAll,
            intensity: intensity,
            launcher: InMemoryLauncher(workers)
        )
        try await bridge.start()
        // A clerk on demand starts with its first event.
        publisher.publish(ErrandGiven(number: 1))
        publisher.publish(ErrandReport(text: "one that takes long"))
        await entered.wait(for: 1)
        for await update in bridge.statusUpdates where update["clerk"]?.state == .ready { break }
        try #require(bridge.core.present(2)).violated("the test wants it so")
        for await update in bridge.statusUpdates where update["porter"]?.state == .draining { break }
        #expect(bridge.status.first?.state == .ready)
        return bridge
    }

    @Test(
        "keeps the events of its next specification for its next process, even if its present one idles",
        arguments: [false, true]
    )
    func replaced(isOnDemand: Bool) async throws {
        let clerk = clerk(onDemand: isOnDemand ? OnDemand(idleTime: .seconds(3_600)) : nil)
        let bridge = try await bridge(clerk, intensity: RestartIntensity())
        let process = try #require(bridge.core.present(0))
        try await bridge.replace("clerk", with: next(clerk))
        if isOnDemand {
            while !process.link.keepEventsIfIdle(since: process.link.activity), !Task.isCancelled { await Task.yield() }
            bridge.core.supervisor?.childIdled(index: 0, start: process.number)
        }
        publisher.publish(ErrandDone(number: 2))
        gate.open()
        for await update in bridge.statusUpdates where update["crate-maker"]?.starts == 2 { break }
        await bridge.waitUntilIdle()
        #expect(seen.all == [2])
        await bridge.shutdown()
    }

    @Test("starts again if it is being given up and its specification changes, and so does its group")
    func givenUp() async throws {
        let clerk = clerk()
        let bridge = try await bridge(clerk, intensity: RestartIntensity(restarts: 0, within: .seconds(10)))
        #expect(bridge.status.map(\.state.isAtRest) == [false, false, true])
        var wanted = bridge.core.presentWorkers.flatMap(\.members)
        wanted[0] = next(clerk)
        #expect(try await bridge.apply(wanted).replaced == ["clerk"])
        gate.open()
        for await update in bridge.statusUpdates
        where update.workers.allSatisfy({ $0.starts == 2 && $0.state == .ready || $0.state.isAtRest }) { break }
        #expect(bridge.status.map(\.state) == [.ready, .ready, .ready])
        await bridge.shutdown()
    }
}
