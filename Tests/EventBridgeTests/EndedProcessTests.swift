import BridgeWorker
import DomainEvents
import EventBridgeTesting
import EventRouting
import ExampleDomain
import Supervision
import TestSupport
import Testing

@testable import EventBridge

private struct LeftAnnounced: DomainEvent {
    let count: Int
}

private struct LeftSent: DomainEvent {
    let number: Int
}

@Suite("A process that has ended is never shown as ready, and what is waited for has a name", .timeLimit(.minutes(5)))
struct EndedProcessTests {
    private let publisher = EventPublisher()

    private func status(of worker: String, in bridge: BridgeHost) throws -> WorkerStatus {
        try #require(bridge.status.first { $0.name == worker })
    }

    /// Returns the update that shows that the worker's process has ended.
    private func end(of worker: String, in bridge: BridgeHost) async -> WorkerStatus? {
        for await update in bridge.statusUpdates {
            if let status = update[worker], status.ended != nil { return status }
        }
        return nil
    }

    @Test("while an inline handler here has an event of it: the event is named, and the restart comes behind it")
    func heldByHandler() async throws {
        let (gate, entered, exits) = (ErrandGate(), Collected<Void>(), Collected<WorkerExited>())
        let subscriptions = [
            publisher.subscribe(to: WorkDone.self) { _ in
                entered.add(())
                gate.block()
            },
            publisher.subscribe(to: WorkerExited.self) { exits.add($0) },
        ]
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [faulty("none", name: "worker", subscribes: [WorkRequested.self])]
        )
        try await bridge.start()
        publisher.publish(WorkRequested(number: 1, text: ""))
        await entered.wait(for: 1)
        let pid = try #require(try status(of: "worker", in: bridge).pid)
        #expect(ProcessSignal.kill(pid))
        let told = try #require(await end(of: "worker", in: bridge))
        #expect(told.state == .stopping && told.pid == nil)
        #expect(told.ended == .signaled(number: 9, coreDumped: false))
        #expect(told.waitsFor == "a handler of WorkDone")
        let now = try status(of: "worker", in: bridge)
        #expect(now.state == .stopping && now.pid == nil && now.starts == 1)
        #expect(now.waitsFor == "a handler of WorkDone")
        #expect(exits.all.isEmpty)
        gate.open()
        for await update in bridge.statusUpdates
        where update["worker"]?.state == .ready && update["worker"]?.starts == 2 { break }
        let exit = try #require(await exits.wait(for: 1).first)
        #expect(exit.pid == pid && exit.reason == "killed by SIGKILL (9)" && exit.next.hasPrefix("backing off"))
        #expect(try status(of: "worker", in: bridge).ended == nil)
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("while a handler is slow and others queue behind it: the one that runs is named, not the one that came last")
    func heldInLane() async throws {
        let (gate, entered) = (ErrandGate(), Collected<Void>())
        let sessions = Collected<WorkerSession?>()
        let seen = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: ErrandReport.self) { _ in
                entered.add(())
                gate.block()
            },
            publisher.subscribe(to: ErrandDone.self) { seen.add($0.number) },
        ]
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("worker", subscribes: [ErrandGiven.self]) { publisher in
                    sessions.add(WorkerSession.current)
                    return [
                        publisher.subscribe(to: ErrandGiven.self) { _ in
                            publisher.publish(ErrandReport(text: ""))
                            for number in 0..<100 { publisher.publish(ErrandDone(number: number)) }
                        }
                    ]
                }
            ]
        )
        // The worker's own handlers are done; only other receivers still handle its events.
        try await publisher.deliver(ErrandGiven(number: 1), within: .seconds(120))
        await entered.wait(for: 1)
        try #require(sessions.all[0]).abandon()
        _ = await end(of: "worker", in: bridge)
        #expect(try status(of: "worker", in: bridge).waitsFor == "a handler of ErrandReport")
        gate.open()
        await seen.wait { $0.count >= 100 }
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    /// Room for 64 events.
    private static let narrow = WorkerLimits(outbox: 1 << 10, outboxHardLimit: 16 << 10)

    /// A bridge in which the events that "source" has left wait for room at "slow", whose handlers wait for the gate.
    private func waitingRecovery(_ gate: Collected<Void>, _ handled: Collected<Int>) async throws -> BridgeHost {
        let sessions = Collected<WorkerSession?>()
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("slow", subscribes: [LeftSent.self], limits: Self.narrow) { publisher in
                    [
                        publisher.subscribe(to: LeftSent.self) { event async in
                            await gate.wait(for: 1)
                            handled.add(event.number)
                        }
                    ]
                },
                InMemoryWorker("source", subscribes: [LeftAnnounced.self]) { publisher in
                    sessions.add(WorkerSession.current)
                    return [
                        publisher.subscribe(to: LeftAnnounced.self) { announced in
                            guard EventContext.current?.attempt == 1 else { return }
                            for number in 0..<announced.count { publisher.publish(LeftSent(number: number)) }
                        }
                    ]
                },
            ]
        )
        // More than the window of "source" lets out, and far more than the outbox of "slow" holds.
        try await publisher.deliver(LeftAnnounced(count: 10_000), within: .seconds(120))
        try #require(sessions.all[0]).abandon()
        while bridge.status.first(where: { $0.name == "source" })?.waitsFor == nil { await Task.yield() }
        return bridge
    }

    @Test("while what it has left waits for room at another worker: that worker is named")
    func heldAtGate() async throws {
        let (gate, handled) = (Collected<Void>(), Collected<Int>())
        let bridge = try await waitingRecovery(gate, handled)
        let now = try status(of: "source", in: bridge)
        #expect(now.state == .stopping && now.pid == nil && now.ended != nil && now.starts == 1)
        #expect(now.waitsFor == "room at worker \"slow\"")
        gate.add(())
        await handled.wait { $0.count == 10_000 }
        for await update in bridge.statusUpdates
        where update["source"]?.state == .ready && update["source"]?.starts == 2 { break }
        await bridge.shutdown()
    }

    @Test("A bridge that is dropped while a recovery waits for room lets go of the thread that waits")
    func droppedAtGate() async throws {
        let (gate, handled) = (Collected<Void>(), Collected<Int>())
        weak var router: EventRouter?
        do {
            let bridge = try await waitingRecovery(gate, handled)
            router = bridge.core.router
            #expect(router != nil)
        }
        while router != nil { await Task.yield() }
        gate.add(())
    }
}
