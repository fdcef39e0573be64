import Locks
import Synchronization

/// Whether events wait for a consumer; the consumer reads this without its lock before it sleeps.
final class ArrivalFlag: Sendable {
    private let isWaiting = Atomic<Bool>(false)

    /// How often a consumer checks for events before it sleeps: for a microsecond or two in all, less than a wake-up.
    private static let looks = 2_048

    /// Called with the consumer's lock held.
    func set(_ isWaiting: Bool) {
        self.isWaiting.store(isWaiting, ordering: .relaxed)
    }

    /// Watches for a moment whether events come; returns true if the consumer should take the lock and look.
    func comeSoon() -> Bool {
        if let thread = Simulation.thread {
            thread.yield()
            return isWaiting.load(ordering: .relaxed)
        }
        for _ in 0..<Self.looks where isWaiting.load(ordering: .relaxed) { return true }
        return false
    }
}
