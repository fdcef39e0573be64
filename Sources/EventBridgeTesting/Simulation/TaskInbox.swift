import Locks

/// The tasks that come to a world from outside, such as the test's own task.
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

    /// Runs `body` under the real lock, which the world's scheduler does not see.
    private func outside<R>(_ body: () -> R) -> R {
        lock.lockReally()
        defer { lock.unlockReally() }
        return body()
    }
}
