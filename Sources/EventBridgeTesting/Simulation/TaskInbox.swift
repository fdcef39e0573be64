import Locks

/// Tasks that have come to a world from outside, such as the one that the test is.
final class TaskInbox: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var tasks: [(process: Int, job: UnownedJob)] = []

    func add(_ job: UnownedJob, to process: Int) { outside { tasks.append((process, job)) } }

    var isEmpty: Bool { outside { tasks.isEmpty } }

    func takeAll() -> [(process: Int, job: UnownedJob)] {
        outside {
            defer { tasks = [] }
            return tasks
        }
    }

    /// The world decides nothing about this lock.
    private func outside<R>(_ body: () -> R) -> R {
        lock.lockReally()
        defer { lock.unlockReally() }
        return body()
    }
}
