import Locks

/// A thread of a world: a real thread that runs only while it has the baton.
final class WorldThread: SimulatedThread, @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton.

    enum State: Equatable {
        case runs
        /// Waits for its turn.
        case ready
        case waits(for: Matter)
        case ended
    }

    enum Matter: Equatable {
        case condition(ObjectIdentifier)
        case lock(ObjectIdentifier)
        case work
        case time
        case end(of: Int)
        case death(of: Int)
    }

    /// The scheduler, which outlives all of its threads.
    unowned(unsafe) let scheduler: Scheduler
    let number: Int
    let name: String
    let baton = Baton()

    /// The simulated process whose code the thread runs.
    var process: WorldProcess
    var state = State.ready
    /// The number of the thread's waits so far: a wake-up for an earlier wait is ignored.
    var waits: UInt64 = 0
    /// The time at which the thread's wait ends at the latest; nil for no limit.
    var deadline: UInt64?
    /// Whether the wait has ended because its deadline came.
    var isOverdue = false
    var hasBegun = false
    /// The thread's place in code; set when the world asks for it.
    var place = ""
    /// The locks that the thread holds.
    var held: [ObjectIdentifier] = []

    init(_ scheduler: Scheduler, number: Int, name: String, process: WorldProcess) {
        self.scheduler = scheduler
        self.number = number
        self.name = name
        self.process = process
    }

    // MARK: - Locks

    func lock(_ lock: Lock) {
        if held.isEmpty { scheduler.point(self) }
        while !lock.tryLockReally() {
            // The lock is held by a waiting thread of this world or, briefly, by a thread outside the world.
            if !scheduler.waitForLock(lock, self) {
                lock.lockReally()
                break
            }
        }
        held.append(ObjectIdentifier(lock))
    }

    func hasLocked(_ lock: Lock) {
        held.append(ObjectIdentifier(lock))
    }

    func hasUnlocked(_ lock: Lock) {
        let identity = ObjectIdentifier(lock)
        if let index = held.lastIndex(of: identity) { held.remove(at: index) }
        scheduler.wasUnlocked(identity)
    }

    // MARK: - Waits

    func wait(for condition: AnyObject, holding lock: Lock, until deadline: UInt64?) -> Bool {
        let identity = ObjectIdentifier(lock)
        if let index = held.lastIndex(of: identity) { held.remove(at: index) }
        let wasSignalled = scheduler.wait(self, for: .condition(ObjectIdentifier(condition)), until: deadline) {
            lock.unlockReally()
            return identity
        }
        self.lock(lock)
        return wasSignalled
    }

    func wake(_ condition: AnyObject, all: Bool) {
        scheduler.wake(.condition(ObjectIdentifier(condition)), all: all)
    }

    func yield() {
        scheduler.yield(self)
    }

    func undivided(_ body: () -> Void) {
        // The mark counts as a held lock: the thread keeps the baton until the mark is removed.
        let mark = ObjectIdentifier(self)
        held.append(mark)
        body()
        if let index = held.lastIndex(of: mark) { held.remove(at: index) }
    }

    // MARK: - Threads, queues, tasks

    func start(name: String, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let started = scheduler.start(name: name, in: process, body)
        return { [scheduler] in scheduler.join(started) }
    }

    func perform(on queue: any AnyObject & Sendable, _ work: @escaping @Sendable () -> Void) {
        scheduler.perform(on: queue, of: process, work)
    }

    func callLater(after nanoseconds: UInt64, _ body: @escaping @Sendable () -> Void) {
        scheduler.callLater(after: nanoseconds, in: process, body)
    }

    var taskExecutor: any TaskExecutor { process.executor }

    // MARK: - Time and chance

    var monotonicTime: UInt64 { scheduler.readTime() }

    var wallTime: UInt64 { scheduler.readTime() &+ scheduler.clock.wallOffset }

    func random() -> UInt64 { scheduler.random() }
}
