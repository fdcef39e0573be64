import BridgePlatform
import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting
import Supervision
import TestSupport
import Testing

private struct RestartWished: DomainEvent {}

@Suite("The workers' states: a snapshot first, then every change")
struct WorkerStatusTests {
    private let publisher = EventPublisher()

    private func bridge(_ names: [String] = ["a", "b"]) async throws -> BridgeHost {
        try await BridgeHost.inMemory(publisher, workers: names.map { InMemoryWorker($0) { _ in [] } })
    }

    /// Whether each update follows from the one before: only what it says has changed differs.
    private func isSequence(_ updates: [WorkerStatusUpdate]) -> Bool {
        guard let first = updates.first, first.changed == nil else { return false }
        return zip(updates, updates.dropFirst()).allSatisfy { before, after in
            guard let changed = after.changed, after[changed.name] == changed else { return false }
            return before[changed.name] != changed
                && before.workers.filter { $0.name != changed.name }
                    == after.workers.filter { $0.name != changed.name }
        }
    }

    @Test("An inline handler has the snapshot before the subscription is there", .timeLimit(.minutes(1)))
    func snapshotFirst() async throws {
        let bridge = try await bridge()
        let updates = Collected<WorkerStatusUpdate>()
        let subscription = bridge.subscribeToStatus { updates.add($0) }
        #expect(updates.all.map { $0.workers.map(\.state) } == [[.ready, .ready]])
        #expect(updates.all.first?.workers.map(\.name) == ["a", "b"])
        bridge.restart("b")
        await updates.wait { $0.last?["b"]?.starts == 2 && $0.last?["b"]?.state == .ready }
        #expect(updates.all.dropFirst().compactMap(\.changed?.name).allSatisfy { $0 == "b" })
        #expect(isSequence(updates.all))
        await bridge.shutdown()
        #expect(updates.all.last?.workers.map(\.state) == [.stopped, .stopped])
        #expect(isSequence(updates.all))
        withExtendedLifetime(subscription) {}
    }

    @Test(
        "What follows from a restart inside an event's handler is told in order while the handler runs",
        .timeLimit(.minutes(1))
    )
    func restartedInHandler() async throws {
        let bridge = try await bridge()
        let updates = Collected<WorkerStatusUpdate>()
        let (isBack, isHandled) = (Barrier(), Collected<Bool>())
        let (publisher, other) = (
            publisher,
            Task { [updates = bridge.statusUpdates] in
                for await update in updates where update["a"]?.starts == 2 && update["a"]?.state == .ready { return }
            }
        )
        let subscriptions = [
            bridge.subscribeToStatus { updates.add($0) },
            publisher.subscribe(to: RestartWished.self) { _ in
                bridge.restart("a")
                isBack.wait()
            },
        ]
        // A thread that may be blocked.
        try PlatformThread.start(name: "publisher") {
            publisher.publish(RestartWished())
            isHandled.add(true)
        }
        await other.value
        isBack.open()
        await isHandled.wait { !$0.isEmpty }
        await updates.wait { $0.last?["a"]?.starts == 2 && $0.last?["a"]?.state == .ready }
        #expect(isSequence(updates.all))
        await bridge.shutdown()
        #expect(isSequence(updates.all))
        withExtendedLifetime(subscriptions) {}
    }

    @Test("A subscriber that is cancelled hears nothing more", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let bridge = try await bridge()
        let updates = Collected<WorkerStatusUpdate>()
        bridge.subscribeToStatus { updates.add($0) }.cancel()
        await bridge.shutdown()
        #expect(updates.all.count == 1)
    }

    @Test("Subscribers on the main actor, on a queue and in a task get the same", .timeLimit(.minutes(1)))
    func contexts() async throws {
        let bridge = try await bridge()
        let queue = DispatchQueue(label: "status")
        let (onMain, onQueue, inTask) = (
            Collected<WorkerStatusUpdate>(), Collected<WorkerStatusUpdate>(), Collected<WorkerStatusUpdate>()
        )
        let subscriptions = [
            bridge.subscribeToStatus(on: .main) { update in
                MainActor.assertIsolated()
                onMain.add(update)
            },
            bridge.subscribeToStatus(on: .queue(queue)) { update in
                dispatchPrecondition(condition: .onQueue(queue))
                onQueue.add(update)
            },
            bridge.subscribeToStatus { update async in inTask.add(update) },
        ]
        bridge.restart("a")
        for collected in [onMain, onQueue, inTask] {
            await collected.wait { $0.last?["a"]?.starts == 2 && $0.last?["a"]?.state == .ready }
            #expect(isSequence(collected.all))
        }
        await bridge.shutdown()
        withExtendedLifetime(subscriptions) {}
    }

    @Test("As a sequence it begins anew for each consumer, and ends with the bridge", .timeLimit(.minutes(1)))
    func sequence() async throws {
        let bridge = try await bridge()
        let updates = bridge.statusUpdates
        var first = updates.makeAsyncIterator()
        let snapshot = await first.next()
        #expect(snapshot?.changed == nil)
        #expect(snapshot?.workers.map(\.state) == [.ready, .ready])
        await bridge.shutdown()
        var rest: [WorkerStatusUpdate] = []
        while let update = await first.next() { rest.append(update) }
        #expect(isSequence([try #require(snapshot)] + rest))
        #expect(rest.last?.workers.map(\.state) == [.stopped, .stopped])
        var late: [WorkerStatusUpdate] = []
        for await update in updates { late.append(update) }
        #expect(late.map { $0.workers.map(\.state) } == [[.stopped, .stopped]])
    }

    @Test("A subscriber that comes while the workers change misses and repeats nothing", .timeLimit(.minutes(5)))
    func subscribersInTheMiddle() async throws {
        let bridge = try await bridge((0..<8).map { "w\($0)" })
        let all = Collected<WorkerStatusUpdate>()
        let subscription = bridge.subscribeToStatus { all.add($0) }
        let latecomers = await withTaskGroup(of: (Collected<WorkerStatusUpdate>, Subscription).self) { group in
            for _ in 0..<40 {
                group.addTask {
                    let updates = Collected<WorkerStatusUpdate>()
                    return (updates, bridge.subscribeToStatus { updates.add($0) })
                }
                for worker in 0..<8 { bridge.restart("w\(worker)") }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        await bridge.shutdown()
        // Shutdown waits only a few seconds for the updates of a long story, so wait for the last update here.
        for told in [all] + latecomers.map(\.0) {
            await told.wait { $0.last?.workers.allSatisfy { $0.state == .stopped } == true }
        }
        let truth = all.all
        #expect(isSequence(truth))
        for (updates, _) in latecomers {
            let found = updates.all
            #expect(isSequence(found))
            // From the snapshot on, the latecomer gets the same updates.
            #expect(Array(truth.suffix(found.count - 1)) == Array(found.dropFirst()))
            let before = truth[truth.count - found.count]
            #expect(before.workers == found.first?.workers)
        }
        withExtendedLifetime(subscription) {}
    }
}
