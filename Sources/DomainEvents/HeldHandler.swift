import Synchronization

/// A subscriber's handler; it is released when its gate is closed and no call runs.
///
/// A call that has entered the gate uses the handler without a lock. After the gate is closed, the closing thread and
/// each call that leaves the gate, or finds it closed, check whether a call is still at the gate. The first of them
/// that finds no call there releases the handler.
final class HeldHandler<Handler: Sendable>: Sendable {
    private final class Box: Sendable {
        let handler: Handler

        init(_ handler: Handler) {
            self.handler = handler
        }
    }

    private let address: Atomic<UInt>
    private let gate: CallGate

    init(_ handler: Handler, behind gate: CallGate) {
        address = Atomic(UInt(bitPattern: Unmanaged.passRetained(Box(handler)).toOpaque()))
        self.gate = gate
    }

    deinit { letGo() }

    /// Enters the gate and returns the handler, which the caller has until ``leave()``; nil if the gate is closed.
    func enter() -> Handler? {
        guard gate.enter() else {
            // The closing thread may have seen this call at the gate, and left the release to this call.
            letGoIfUnused()
            return nil
        }
        guard let pointer = UnsafeRawPointer(bitPattern: address.load(ordering: .relaxed)) else {
            preconditionFailure("a handler was let go of while its gate was open")
        }
        return Unmanaged<Box>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.handler }
    }

    func leave() {
        gate.exit()
        letGoIfUnused()
    }

    /// Called when the gate may have been closed.
    func letGoIfUnused() {
        if gate.isClosed, gate.isUncounted { letGo() }
    }

    private func letGo() {
        guard let pointer = UnsafeRawPointer(bitPattern: address.exchange(0, ordering: .acquiringAndReleasing)) else {
            return
        }
        // `init` has stored the box, with one reference; the exchange gives it to one thread only.
        Unmanaged<Box>.fromOpaque(pointer).release()
    }
}
