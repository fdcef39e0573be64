import Locks

/// A simulated process: threads that stand still and end together, and the executor of their tasks.
final class WorldProcess: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    let number: Int
    let name: String
    let executor: WorldExecutor

    /// Whether the process is dead, so none of its threads gets another turn.
    var isDead = false
    /// Whether the process is stopped, so none of its threads gets a turn for now.
    var isStopped = false
    /// How many points the process's threads have passed.
    var points: UInt64 = 0
    /// The work of each queue that the process uses; in another process, the same object stands for another queue.
    var queues: [ObjectIdentifier: QueueLine] = [:]
    /// The points at which something happens to the process; the next point is last.
    @exclusivity(unchecked) private(set) var fates: [(point: UInt64, act: @Sendable () -> Void)] = []

    struct QueueLine {
        /// Held so that no other queue gets the same identity.
        let owner: any AnyObject & Sendable
        var work: [@Sendable () -> Void]
    }

    init(number: Int, name: String, scheduler: Scheduler) {
        self.number = number
        self.name = name
        executor = WorldExecutor(scheduler, process: number)
    }

    /// A number above those of all real processes.
    var identifier: Int32 { 1 << 30 + Int32(clamping: number) }

    /// Calls `act` when the process comes to this point; if the point has passed, at the process's next point.
    func meet(_ point: UInt64, _ act: @escaping @Sendable () -> Void) {
        let index = fates.firstIndex { $0.point <= point } ?? fates.endIndex
        fates.insert((point, act), at: index)
    }

    /// Removes and returns the call that is due at the present point; nil if none is due.
    func takeFate() -> (@Sendable () -> Void)? {
        guard let next = fates.last, points >= next.point else { return nil }
        return fates.removeLast().act
    }

    func forgetFates() { fates = [] }

    /// Whether the process's threads get turns.
    var runs: Bool { !isDead && !isStopped }
}

/// Runs the tasks of a simulated process on up to two threads of its own.
final class WorldExecutor: TaskExecutor, @unchecked Sendable {
    enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    /// The greatest number of threads that run tasks.
    static let width = 2

    // Sendable: everything mutable belongs to the thread that has the world's baton.
    private let scheduler: Scheduler
    /// The number of the process.
    private let process: Int
    var work: [Work] = []
    /// The threads that have nothing to do.
    var idle: [WorldThread] = []
    var threads = 0

    init(_ scheduler: Scheduler, process: Int) {
        self.scheduler = scheduler
        self.process = process
    }

    func enqueue(_ job: consuming ExecutorJob) {
        scheduler.enqueue(UnownedJob(job), of: process)
    }
}
