import Locks
public import Synchronization

/// Whether calls of one subscriber's handler may still begin, and which run.
///
/// A call passes two marks: it is *being entered* from before the look at "closed" until the handler is called, then it
/// *runs*. Cancelling closes the gate and waits for calls being entered, a few instructions each, never for one that
/// runs. So no handler begins after `cancel()` has returned: a flag that is looked at and then acted upon would not
/// give that.
///
/// Handlers on the publishing thread set their marks in the thread's ``DeliverySlot``, which costs no traffic between
/// threads; all others count here.
///
/// Subscriptions hold the gate and not the subscriber: a cancelled subscription keeps nothing that the handler has
/// captured.
@usableFromInline
package final class CallGate: @unchecked Sendable {
    // Sendable: `state` is atomic, `waiters` is guarded by `lock`.

    /// Closed, awaited, and the counts of calls being entered and of calls that run.
    @usableFromInline let state = Atomic<UInt64>(0)
    private let lock = Lock()
    private var waiters: [CheckedContinuation<Void, Never>] = []

    @usableFromInline static var closedBit: UInt64 { 1 }
    @usableFromInline static var awaitedBit: UInt64 { 2 }
    static let oneEntering: UInt64 = 1 << 8
    static let oneRunning: UInt64 = 1 << 32
    static let enteringMask: UInt64 = oneRunning - oneEntering

    /// What stands for this gate in a ``DeliverySlot``.
    @inlinable var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

    @inlinable var isClosed: Bool { state.load(ordering: .sequentiallyConsistent) & Self.closedBit != 0 }

    /// Lets no call in any more; false if it was closed already.
    func close() -> Bool {
        state.bitwiseOr(Self.closedBit, ordering: .sequentiallyConsistent).oldValue & Self.closedBit == 0
    }

    // MARK: - Calls that are counted here

    /// The call runs from when this returns true; the caller's very next step is the handler.
    func enter() -> Bool {
        let before = state.wrappingAdd(Self.oneEntering, ordering: .sequentiallyConsistent).oldValue
        if before & Self.closedBit == 0 {
            state.wrappingAdd(Self.oneRunning &- Self.oneEntering, ordering: .sequentiallyConsistent)
            return true
        }
        wakeIfAwaited(state.wrappingSubtract(Self.oneEntering, ordering: .sequentiallyConsistent).newValue)
        return false
    }

    /// Whether no call that is counted here is being entered or runs.
    var isUncounted: Bool { state.load(ordering: .sequentiallyConsistent) < Self.oneEntering }

    func exit() {
        wakeIfAwaited(state.wrappingSubtract(Self.oneRunning, ordering: .sequentiallyConsistent).newValue)
    }

    private func wakeIfAwaited(_ state: UInt64) {
        if state & Self.awaitedBit != 0 { wakeWaiters() }
    }

    // MARK: - Waiting

    /// Returns when no call is being entered any more; only after ``close()``.
    func waitUntilEntered() {
        while state.load(ordering: .sequentiallyConsistent) & Self.enteringMask != 0
            || DeliverySlots.contains(gate: address)
        {
            // A few instructions away, unless their thread was just put aside.
            yieldThread()
        }
    }

    private var isIdle: Bool {
        isUncounted
            && !DeliverySlots.contains(gate: address)
            && !DeliverySlots.contains(gate: address | DeliverySlot.isRunning)
    }

    /// Called by the thread that has left a call while the gate was awaited.
    @usableFromInline
    func wakeWaiters() {
        let ready = lock.withLock {
            guard isIdle else { return [CheckedContinuation<Void, Never>]() }
            defer { waiters = [] }
            return waiters
        }
        for waiter in ready { waiter.resume() }
    }

    /// Returns when no call runs; only after ``close()``.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            lock.withLock { waiters.append(continuation) }
            // Before the look at the calls: one that leaves now either is seen to have left, or sees this.
            state.bitwiseOr(Self.awaitedBit, ordering: .sequentiallyConsistent)
            wakeWaiters()
        }
    }
}
