import BridgePlatform
import DomainEvents
import EventBridge
import Locks

/// What a bridge with one worker reports of the worker's life, and when.
final class SupervisionReports: @unchecked Sendable {
    // Sendable: `lock` guards everything mutable but `subscriptions`, which only `init` sets.

    enum Outcome: Sendable, Hashable {
        /// When the previous process had exited, and when the start was ready.
        case ready(exited: UInt64, ready: UInt64)
        /// The worker was given up, for this reason: no start will be ready.
        case gaveUp(String)
    }

    private let lock = Lock()
    private var exited: UInt64 = 0
    private var starts = 0
    private var readyAt: UInt64 = 0
    private var reason: String?
    private var waiter: (start: Int, continuation: CheckedContinuation<Void, Never>)?
    private var subscriptions: [Subscription] = []

    init(_ publisher: EventPublisher) {
        subscriptions = [
            publisher.subscribe(to: WorkerExited.self) { [weak self] _ in
                let now = MonotonicClock.now()
                self?.note { $0.exited = now }
            },
            publisher.subscribe(to: WorkerReady.self) { [weak self] ready in
                let now = MonotonicClock.now()
                self?.note { ($0.starts, $0.readyAt) = (ready.start, now) }
            },
            publisher.subscribe(to: WorkerGaveUp.self) { [weak self] end in self?.note { $0.reason = end.reason } },
        ]
    }

    /// Waits until this start is ready, or the worker is given up.
    func ready(_ start: Int) async -> Outcome {
        await withCheckedContinuation { continuation in
            let isOver = lock.withLock {
                let isOver = hasCome(start)
                if !isOver { waiter = (start, continuation) }
                return isOver
            }
            if isOver { continuation.resume() }
        }
        return lock.withLock { reason.map { .gaveUp($0) } ?? .ready(exited: exited, ready: readyAt) }
    }

    /// The caller holds the lock.
    private func hasCome(_ start: Int) -> Bool { starts >= start || reason != nil }

    private func note(_ change: (SupervisionReports) -> Void) {
        let over: CheckedContinuation<Void, Never>? = lock.withLock {
            change(self)
            guard let waiter, hasCome(waiter.start) else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
        over?.resume()
    }
}
