import ChaosLedger
import Synchronization

/// The mistakes that the handlers of the next events from the host are to make.
final class Mischief: Sendable {
    private let refusals = Atomic<Int>(0)
    private let delays = Atomic<Int>(0)
    private let delay = Atomic<UInt32>(0)

    func refuse(next count: Int) {
        refusals.store(count, ordering: .relaxed)
    }

    func delay(next count: Int, by microseconds: UInt32) {
        delay.store(microseconds, ordering: .relaxed)
        delays.store(count, ordering: .relaxed)
    }

    /// The mistake for one event.
    func take() -> HandlerMischief {
        // Usually the counter is 0: then this load spares publishers the contended subtraction.
        if refusals.load(ordering: .relaxed) > 0, refusals.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 {
            return .refuses
        }
        if delays.load(ordering: .relaxed) > 0, delays.wrappingSubtract(1, ordering: .relaxed).oldValue > 0 {
            return .takes(microseconds: delay.load(ordering: .relaxed))
        }
        return .none
    }
}
