import Locks
import Synchronization

/// Whether a publisher may import events of other machines, and the sources of those that it imported last.
final class ImportRight: @unchecked Sendable {
    // Sendable: guarded by `lock`, or atomic.
    private let isWithdrawn = Atomic(false)
    private let lock = Lock()
    private var sources = ForeignSources()

    var isGranted: Bool { !isWithdrawn.load(ordering: .relaxed) }

    func withdraw() { isWithdrawn.store(true, ordering: .relaxed) }

    /// The context as this process passes it on.
    func adopt(_ context: EventContext, bookmark: WorkerBookmark? = nil) -> EventContext {
        lock.withLock { sources.adopt(context, bookmark: bookmark) }
    }
}
