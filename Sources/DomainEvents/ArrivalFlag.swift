import Locks
import Synchronization

/// Whether events wait; a consumer reads this without the lock before it sleeps.
final class ArrivalFlag: Sendable {
    private let isWaiting = Atomic<Bool>(false)

    /// How many times a consumer that has caught up looks again: that takes a microsecond or two, less than a wake-up.
    private static let looks = 2_048

    /// Called with the lock held.
    func set(_ isWaiting: Bool) {
        self.isWaiting.store(isWaiting, ordering: .relaxed)
    }

    /// Watches for a moment whether events come; if it returns true, the consumer takes the lock and looks again.
    func comeSoon() -> Bool {
        if let thread = Simulation.thread {
            thread.yield()
            return isWaiting.load(ordering: .relaxed)
        }
        for _ in 0..<Self.looks where isWaiting.load(ordering: .relaxed) { return true }
        return false
    }
}
