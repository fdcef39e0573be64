import Locks
public import Synchronization

/// Whether calls of one subscriber's handler may still begin, and how many run.
///
/// A single atomic word holds "closed" and the number of calls, so that checking the one and joining the other is one step.
/// Subscriptions hold the gate and not the subscriber: whoever has cancelled keeps nothing that the handler has captured.
@usableFromInline
package final class CallGate: @unchecked Sendable {
    // Sendable: `state` is atomic, `waiters` is guarded by `lock`.
    @usableFromInline let state = Atomic<Int>(0)
    private let lock = Lock()
    private var waiters: [CheckedContinuation<Void, Never>] = []

    @usableFromInline static var closedBit: Int { 1 }
    @usableFromInline static var oneCall: Int { 2 }

    /// Joins the running calls; false if the gate has been closed.
    @inlinable
    func enter() -> Bool {
        let before = state.wrappingAdd(Self.oneCall, ordering: .acquiringAndReleasing).oldValue
        if before & Self.closedBit == 0 { return true }
        exit()
        return false
    }

    @inlinable
    func exit() {
        let after = state.wrappingSubtract(Self.oneCall, ordering: .acquiringAndReleasing).newValue
        if after == Self.closedBit { wakeWaiters() }
    }

    /// Lets nobody in any more; false if it was closed already.
    func close() -> Bool {
        state.bitwiseOr(Self.closedBit, ordering: .acquiringAndReleasing).oldValue & Self.closedBit == 0
    }

    @usableFromInline
    func wakeWaiters() {
        let ready = lock.withLock {
            defer { waiters = [] }
            return waiters
        }
        for waiter in ready { waiter.resume() }
    }

    /// Returns when no call runs; only after ``close()``.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = lock.withLock {
                if state.load(ordering: .acquiring) == Self.closedBit { return true }
                waiters.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }
}
