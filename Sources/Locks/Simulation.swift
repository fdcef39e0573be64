public import CLocks

/// The calling thread as a thread of a simulation: the thread asks this object for what other threads ask of the
/// operating system.
///
/// Exactly one thread of a simulation runs at a time. A call may let other threads run first; it returns when it is
/// this thread's turn again. Only the thread itself calls these members.
@usableFromInline
package protocol SimulatedThread: AnyObject, Sendable {
    /// Takes the lock.
    func lock(_ lock: Lock)

    /// Called after `Lock.tryLock()` has taken the lock.
    func hasLocked(_ lock: Lock)

    /// Called after the lock was given back.
    func hasUnlocked(_ lock: Lock)

    /// Waits until the condition is signalled or the simulation's clock has reached the deadline.
    ///
    /// - Parameter lock: held before and after, and given back during the wait.
    /// - Returns: `false` when the deadline has passed.
    func wait(for condition: AnyObject, holding lock: Lock, until deadline: UInt64?) -> Bool

    /// Wakes all threads that wait for the condition, or only the thread that has waited longest.
    func wake(_ condition: AnyObject, all: Bool)

    /// Lets other threads run: this thread has nothing to do until one of them has done something.
    func yield()

    /// Runs `body`, which waits for nothing; no other thread runs until `body` has returned.
    func undivided(_ body: () -> Void)

    /// Starts another thread of the same simulated process.
    ///
    /// - Returns: a closure that waits until the thread has ended.
    func start(name: String, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void

    /// Runs `work` after earlier work for the same queue, on the thread that stands for this queue in the simulated
    /// process.
    func perform(on queue: any AnyObject & Sendable, _ work: @escaping @Sendable () -> Void)

    /// Calls `body` once that many nanoseconds have passed, on a thread of the simulated process.
    func callLater(after nanoseconds: UInt64, _ body: @escaping @Sendable () -> Void)

    /// Nanoseconds on the simulation's monotonic clock.
    var monotonicTime: UInt64 { get }

    /// Nanoseconds since the beginning of 1970 on the simulation's wall clock.
    var wallTime: UInt64 { get }

    /// 64 bits that the simulation's seed decides.
    func random() -> UInt64

    /// Runs the tasks of the simulated process.
    var taskExecutor: any TaskExecutor { get }
}

/// Distinguishes threads that belong to a simulation from all other threads.
///
/// A thread belongs to at most one simulation; a process may have any number. A process without a simulation pays one
/// comparison for each check.
@usableFromInline
package enum Simulation {
    @usableFromInline static var slot: ThreadSpecific<Membership> { ThreadSpecific(.simulation) }

    @usableFromInline
    final class Membership {
        @usableFromInline let thread: any SimulatedThread

        init(_ thread: any SimulatedThread) {
            self.thread = thread
        }
    }

    /// The calling thread, if it belongs to a simulation.
    @inlinable
    package static var thread: (any SimulatedThread)? {
        cl_has_simulations() ? memberThread : nil
    }

    @usableFromInline
    static var memberThread: (any SimulatedThread)? { slot.unmanagedValue?._withUnsafeGuaranteedRef { $0.thread } }

    /// Makes the calling thread a thread of a simulation while `body` runs.
    package static func run(as thread: any SimulatedThread, _ body: () -> Void) {
        cl_allow_simulations()
        slot.value = Membership(thread)
        body()
        slot.value = nil
    }

    /// Takes the calling thread out of its simulation, if there is one, while `body` runs.
    package static func outside(_ body: () -> Void) {
        let membership = slot.value
        slot.value = nil
        body()
        slot.value = membership
    }

    /// Takes the calling thread out of its simulation for good.
    package static func leave() { slot.value = nil }

    /// Runs `body`; in a simulation, no other thread runs until `body` has returned.
    ///
    /// This is for code that a task's cancellation calls: Swift's runtime holds a lock of its own during that call, and
    /// the simulation does not know that lock. If the cancelled task ran meanwhile, it would wait for the lock while
    /// this thread waits for its turn.
    package static func undivided(_ body: () -> Void) {
        if let thread { thread.undivided(body) } else { body() }
    }

    /// The executor of the tasks that the calling thread starts; nil for Swift's own executors.
    package static var taskExecutor: (any TaskExecutor)? { thread?.taskExecutor }
}

/// Numbers that cannot be guessed; in a simulation, the seed decides them.
package enum Randomness {
    package static func next() -> UInt64 {
        if let thread = Simulation.thread { return thread.random() }
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// A number from 0 up to, but not including, 1.
    package static func nextFraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

    /// A number other than 0, for an incarnation.
    package static func nextIncarnation() -> UInt64 { max(1, next()) }
}
