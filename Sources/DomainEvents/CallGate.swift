import Locks
public import Synchronization

/// Whether calls of one subscriber's handler may still begin, and how many run.
///
/// A call is *being entered* from just before its thread checks whether the gate is closed until the thread notes that
/// the call *runs*; then the thread calls the handler. `Subscription.cancel()` closes the gate and waits for calls
/// being entered, a few instructions each, but never for a call that runs. So after `cancel()` has returned, a handler
/// begins only on a thread that lost its processor between the note and the handler's first instruction. A flag that a
/// thread checks before it calls the handler would leave a longer gap.
///
/// A call of an inline handler keeps its state in its thread's ``DeliverySlot``, which costs no traffic between
/// threads, unless the slot already names an outer call. The gate counts all other calls.
///
/// A subscription holds the gate and not the subscriber, so a cancelled subscription keeps nothing that the handler has
/// captured.
@usableFromInline
package final class CallGate: @unchecked Sendable {
    // Sendable: `state` is atomic, `waiters` is guarded by `lock`.

    /// The closed bit, the awaited bit, and the counts of calls being entered and of calls that run.
    @usableFromInline let state = Atomic<UInt64>(0)
    private let lock = Lock()
    private var waiters: [CheckedContinuation<Void, Never>] = []

    @usableFromInline static var closedBit: UInt64 { 1 }
    @usableFromInline static var awaitedBit: UInt64 { 2 }
    static let oneEntering: UInt64 = 1 << 8
    static let oneRunning: UInt64 = 1 << 32
    static let enteringMask: UInt64 = oneRunning - oneEntering

    /// The value that identifies this gate in a ``DeliverySlot``.
    @inlinable var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }

    @inlinable var isClosed: Bool { state.load(ordering: .sequentiallyConsistent) & Self.closedBit != 0 }

    /// Closes the gate, so that no further call begins; returns false if the gate was closed already.
    func close() -> Bool {
        state.bitwiseOr(Self.closedBit, ordering: .sequentiallyConsistent).oldValue & Self.closedBit == 0
    }

    // MARK: - Calls that are counted here

    /// Counts a call as running before the caller calls the handler; returns false if the gate is closed.
    func enter() -> Bool {
        let before = state.wrappingAdd(Self.oneEntering, ordering: .sequentiallyConsistent).oldValue
        if before & Self.closedBit == 0 {
            state.wrappingAdd(Self.oneRunning &- Self.oneEntering, ordering: .sequentiallyConsistent)
            return true
        }
        wakeIfAwaited(state.wrappingSubtract(Self.oneEntering, ordering: .sequentiallyConsistent).newValue)
        return false
    }

    /// True if no call that is counted here is being entered or runs.
    var isUncounted: Bool { state.load(ordering: .sequentiallyConsistent) < Self.oneEntering }

    func exit() {
        wakeIfAwaited(state.wrappingSubtract(Self.oneRunning, ordering: .sequentiallyConsistent).newValue)
    }

    private func wakeIfAwaited(_ state: UInt64) {
        if state & Self.awaitedBit != 0 { wakeWaiters() }
    }

    // MARK: - Waiting

    /// Returns when no call is being entered any more; called only after ``close()``.
    func waitUntilEntered() {
        // After the fence, a thread that has begun to enter shows the gate in its slot; all others see the gate closed.
        DeliverySlots.fence()
        while state.load(ordering: .sequentiallyConsistent) & Self.enteringMask != 0
            || DeliverySlots.contains(gate: address)
        {
            // Entering takes only a few more instructions, unless the call's thread has just lost its processor.
            yieldThread()
        }
    }

    /// Whether no call is being entered or runs.
    var isIdle: Bool {
        DeliverySlots.fence()
        return isUncounted
            && !DeliverySlots.contains(gate: address)
            && !DeliverySlots.contains(gate: address | DeliverySlot.isRunning)
    }

    /// Resumes waiting tasks if the gate is idle; called when a task begins to wait, and after calls while one waits.
    @usableFromInline
    func wakeWaiters() {
        let ready = lock.withLock {
            guard isIdle else { return [CheckedContinuation<Void, Never>]() }
            defer { waiters = [] }
            return waiters
        }
        for waiter in ready { waiter.resume() }
    }

    /// Returns when no call runs; called only after ``close()``.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            lock.withLock { waiters.append(continuation) }
            // The bit is set before `wakeWaiters` reads the counts of calls: either `wakeWaiters` sees that a call has
            // left, or that call sees the bit.
            state.bitwiseOr(Self.awaitedBit, ordering: .sequentiallyConsistent)
            wakeWaiters()
        }
    }
}
