import Locks
import Supervision

/// Keeps the time and memory that the workers' last processes have used, as long as their deaths are kept.
///
/// Supervision decides by how a child has ended, never by what it has used. So the usage is kept apart from
/// Supervision's tally of deaths, and a request for the status joins the two.
final class UsageTally: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    /// The usages by child and start.
    private var usages: [Int: [Int: ResourceUsage]] = [:]

    func add(_ usage: ResourceUsage?, index: Int, start: Int) {
        guard let usage else { return }
        lock.withLock {
            usages[index, default: [:]][start] = usage
            if let oldest = usages[index]?.keys.min(), start - oldest >= ChildStatus.deathTallyLimit {
                usages[index]?[oldest] = nil
            }
        }
    }

    /// Forgets a child that was removed.
    func forget(_ index: Int) { lock.withLock { _ = usages.removeValue(forKey: index) } }

    /// The status of the child at this index, with what its last processes have used.
    func filling(in status: ChildStatus, of index: Int) -> ChildStatus {
        let usages = lock.withLock { self.usages[index] }
        var status = status
        for death in status.deaths.indices { status.deaths[death].usage = usages?[status.deaths[death].start] }
        return status
    }
}
