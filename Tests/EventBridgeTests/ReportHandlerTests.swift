import DomainEvents
import EventBridge
import EventBridgeTesting
import ExampleDomain
import Locks
import Supervision
import TestSupport
import Testing

@Suite("An inline handler of the bridge's reports that does not return stops nothing else", .timeLimit(.minutes(5)))
struct ReportHandlerTests {
    private let publisher = EventPublisher()

    /// A bridge with workers as processes: the poller learns of their ends and starts them again.
    private func bridge(_ names: [String]) async throws -> BridgeHost {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: names.map { name in
                faulty(
                    "none",
                    name: name,
                    heartbeat: Heartbeat(every: .milliseconds(100), tolerance: 100),
                    subscribes: [WorkRequested.self]
                )
            }
        )
        try await bridge.start()
        return bridge
    }

    /// Returns when this start of the worker is ready.
    private func wait(for worker: String, start: Int, in bridge: BridgeHost) async {
        for await update in bridge.statusUpdates
        where update[worker]?.state == .ready && update[worker]?.starts == start { return }
    }

    @Test("held by EventsDropped: a worker's death is noticed, it is ready again, and events pass both ways")
    func heldByLosses() async throws {
        let (gate, entered, done) = (ErrandGate(), Collected<EventsDropped>(), Collected<WorkDone>())
        let bridge = try await bridge(["victim", "target"])
        let subscriptions = [
            publisher.subscribe(to: EventsDropped.self) {
                entered.add($0)
                gate.block()
            },
            publisher.subscribe(to: WorkDone.self) { done.add($0) },
        ]
        bridge.stop("target")
        for await update in bridge.statusUpdates where update["target"]?.state == .stopped { break }
        // One of the two members takes the event.
        publisher.publish(WorkRequested(number: 1, text: ""))
        await entered.wait(for: 1)
        await done.wait(for: 1)

        #expect(ProcessSignal.kill(try #require(bridge.status.first?.pid)))
        await wait(for: "victim", start: 2, in: bridge)
        publisher.publish(WorkRequested(number: 2, text: ""))
        await done.wait { $0.contains { $0.number == 2 } }
        bridge.restart("target")
        await wait(for: "target", start: 2, in: bridge)

        // All of that happened while the handler was held.
        #expect(entered.count == 1)
        gate.open()
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("held by one worker's WorkerExited: another one that dies is ready again, and its reports follow in order")
    func heldByExit() async throws {
        let (gate, told) = (ErrandGate(), Collected<String>())
        let bridge = try await bridge(["a", "b"])
        let subscriptions = [
            publisher.subscribe(to: WorkerExited.self) {
                told.add("\($0.worker) exited")
                if $0.worker == "a" { gate.block() }
            },
            publisher.subscribe(to: WorkerReady.self) { told.add("\($0.worker) ready \($0.start)") },
        ]
        #expect(ProcessSignal.kill(try #require(bridge.status[0].pid)))
        await told.wait(for: 1)
        #expect(ProcessSignal.kill(try #require(bridge.status[1].pid)))
        await wait(for: "b", start: 2, in: bridge)
        await wait(for: "a", start: 2, in: bridge)
        #expect(told.all == ["a exited"])
        gate.open()
        await told.wait(for: 4)
        #expect(told.all.filter { $0.hasPrefix("a") } == ["a exited", "a ready 2"])
        #expect(told.all.filter { $0.hasPrefix("b") } == ["b exited", "b ready 2"])
        await bridge.shutdown()
        #expect(told.all.suffix(2) == ["b exited", "a exited"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("held by EventRefused: the link over which the refusal came is read on")
    func heldByRefusal() async throws {
        let (gate, entered, done) = (ErrandGate(), Collected<EventRefused>(), Collected<Int>())
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("clumsy", subscribes: [ErrandGiven.self]) { publisher in
                    [
                        publisher.subscribe(to: ErrandGiven.self) { errand throws in
                            if errand.number == 0 { throw ErrandBroken() }
                            publisher.publish(ErrandDone(number: errand.number))
                        }
                    ]
                }
            ]
        )
        let subscriptions = [
            publisher.subscribe(to: EventRefused.self) {
                entered.add($0)
                gate.block()
            },
            publisher.subscribe(to: ErrandDone.self) { done.add($0.number) },
        ]
        publisher.publish(ErrandGiven(number: 0))
        await entered.wait(for: 1)
        // Each waits for the worker's acknowledgement.
        for number in 1...10 { try await publisher.deliver(ErrandGiven(number: number), within: .seconds(120)) }
        await done.wait(for: 10)
        gate.open()
        await bridge.shutdown()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("held by a change of the status: a worker that dies is ready again")
    func heldByStatus() async throws {
        let (gate, entered) = (ErrandGate(), Collected<Void>())
        let bridge = try await bridge(["a"])
        let subscription = bridge.subscribeToStatus { update in
            guard update.changed != nil else { return }
            entered.add(())
            gate.block()
        }
        #expect(ProcessSignal.kill(try #require(bridge.status[0].pid)))
        await entered.wait(for: 1)
        await wait(for: "a", start: 2, in: bridge)
        #expect(entered.count == 1)
        gate.open()
        await bridge.shutdown()
        subscription.cancel()
    }

    @Test("though it waits for the bridge's own shutdown, which comes to its end without it")
    func waitsForShutdown() async throws {
        let (ended, told) = (ErrandGate(), Collected<String>())
        let bridge = try await bridge(["a"])
        let subscription = publisher.subscribe(to: WorkerExited.self) { exit in
            guard told.count == 0 else { return told.add(exit.next) }
            told.add(exit.next)
            Task {
                // A worker that still waits for its start when the bridge ends has no second end.
                await wait(for: "a", start: 2, in: bridge)
                await bridge.shutdown()
                ended.open()
            }
            ended.block()
        }
        #expect(ProcessSignal.kill(try #require(bridge.status[0].pid)))
        await told.wait(for: 2)
        #expect(told.all.last == "stopped")
        await bridge.waitUntilStopped()
        subscription.cancel()
    }

    @Test("and everything that was reported before the end has been told when shutdown returns")
    func toldBeforeTheEnd() async throws {
        for _ in 0..<20 {
            let exits = Collected<String>()
            let bridge = try await BridgeHost.inMemory(
                publisher,
                workers: (0..<4).map { InMemoryWorker("w\($0)") { _ in [] } }
            )
            let subscription = publisher.subscribe(to: WorkerExited.self) { exit in
                // The first is handled when all workers have stopped, so most reports come after the supervisor's end.
                while !bridge.status.allSatisfy({ $0.state == .stopped }) { yieldThread() }
                exits.add(exit.worker)
            }
            await bridge.shutdown()
            #expect(exits.all == ["w3", "w2", "w1", "w0"])
            subscription.cancel()
        }
    }
}
