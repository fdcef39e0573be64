public import DomainEvents
import Locks

/// Keeps a ``BoxList`` up to date by listening: the example's frontend, which sends no requests.
///
/// The same code serves whether provisioning runs in this process or in a worker. The handlers run on any thread that
/// publishes or reads the events, hence the lock; a presenter for views subscribes `on: .main` instead and needs no
/// lock.
public final class BoxListPresenter: Sendable {
    private let model: Model
    // The presenter keeps its subscriptions, because without them it would get no events.
    private let subscriptions: [Subscription]

    /// Makes a presenter that shows what is announced from now on.
    public init(publisher: EventPublisher) {
        let model = Model()
        self.model = model
        subscriptions = [
            publisher.subscribe(to: BoxProvisioned.self) { event in model.change { $0.apply(event) } },
            publisher.subscribe(to: ItemProvisioned.self) { event in model.change { $0.apply(event) } },
            publisher.subscribe(to: ItemMoved.self) { event in model.change { $0.apply(event) } },
            publisher.subscribe(to: ItemRemoved.self) { event in model.change { $0.apply(event) } },
            publisher.subscribe(to: BoxRemoved.self) { event in model.change { $0.apply(event) } },
            publisher.subscribe(to: BoxProvisioningFailed.self) { event in
                model.change { $0.addNotice("The box \"\(event.label)\" was not provisioned: \(event.reason)") }
            },
            publisher.subscribe(to: ItemDistributionFailed.self) { event in
                model.change { $0.addNotice("The item \"\(event.title)\" found no box: \(event.reason)") }
            },
            publisher.subscribe(to: BoxItemsRedistributionFailed.self) { event in
                model.change { $0.addNotice("The items of box \(event.boxID) stay: \(event.reason)") }
            },
            publisher.subscribe(to: BoxRemovalFailed.self) { event in
                model.change { $0.addNotice("The box \(event.boxID) was not removed: \(event.reason)") }
            },
            publisher.subscribe(to: ItemRemovalFailed.self) { event in
                model.change { $0.addNotice("The item \(event.itemID) was not removed: \(event.reason)") }
            },
        ]
    }

    /// The list to show now.
    public var list: BoxList { model.current }

    /// The boxes and their items, as they are now.
    public var state: [BoxList.Row] { list.rows }

    /// The list to show now, and again after each change; a late consumer sees only the newest list.
    public var lists: AsyncStream<BoxList> { model.stream() }

    /// Waits until the list looks as expected.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before that.
    public func list(where looksAsExpected: @Sendable (BoxList) -> Bool) async throws -> BoxList {
        for await list in lists where looksAsExpected(list) { return list }
        throw CancellationError()
    }
}

/// The list behind its lock, and its watchers.
private final class Model: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var list = BoxList()
    private var watchers: [Int: AsyncStream<BoxList>.Continuation] = [:]
    private var nextWatcher = 0

    var current: BoxList { lock.withLock { list } }

    func change(_ body: (inout BoxList) -> Void) {
        lock.withLock {
            body(&list)
            // Inside the lock: watchers must not see two changes in the wrong order. `yield` runs no watcher's code.
            for watcher in watchers.values { watcher.yield(list) }
        }
    }

    func stream() -> AsyncStream<BoxList> {
        let (stream, continuation) = AsyncStream.makeStream(of: BoxList.self, bufferingPolicy: .bufferingNewest(1))
        let number = lock.withLock {
            nextWatcher += 1
            watchers[nextWatcher] = continuation
            continuation.yield(list)
            return nextWatcher
        }
        continuation.onTermination = { [weak self] _ in self?.remove(number) }
        return stream
    }

    private func remove(_ number: Int) {
        // The continuation is released outside the lock, because the release may run its `onTermination`.
        let removed = lock.withLock { watchers.removeValue(forKey: number) }
        withExtendedLifetime(removed) {}
    }
}
