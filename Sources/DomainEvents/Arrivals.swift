import Locks
import Synchronization

/// Whether something waits, for a consumer that looks without the lock before it sleeps.
final class Arrivals: Sendable {
    private let isWaiting = Atomic<Bool>(false)

    /// How often a consumer that has caught up looks again: for a microsecond or two, which is less than waking it
    /// takes.
    private static let looks = 2_048

    /// Called with the lock held.
    func set(_ isWaiting: Bool) {
        self.isWaiting.store(isWaiting, ordering: .relaxed)
    }

    /// Looks for a moment whether something comes; a consumer that is told so looks again with the lock.
    func comeSoon() -> Bool {
        if let thread = Simulation.thread {
            thread.yield()
            return isWaiting.load(ordering: .relaxed)
        }
        for _ in 0..<Self.looks where isWaiting.load(ordering: .relaxed) { return true }
        return false
    }
}
