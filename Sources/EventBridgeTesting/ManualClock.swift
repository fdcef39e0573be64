import Locks

/// A clock that stands still until a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let task = Task { try await clock.sleep(for: .seconds(30)) }
/// try await clock.waitForSleepers(1)
/// clock.advance(by: .seconds(30))
/// try await task.value
/// ```
public final class ManualClock: Clock, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// A point in the clock's time.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public let sinceStart: Duration

        /// The instant that is later than this instant by `duration`.
        public func advanced(by duration: Duration) -> Instant {
            Instant(sinceStart: sinceStart + duration)
        }

        /// The time from this instant to `other`.
        public func duration(to other: Instant) -> Duration {
            other.sinceStart - sinceStart
        }

        /// Whether `left` is earlier than `right`.
        public static func < (left: Instant, right: Instant) -> Bool {
            left.sinceStart < right.sinceStart
        }
    }

    private struct Sleeper {
        let number: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        let number: Int
        let count: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private let lock = Lock()
    private var time = Instant(sinceStart: .zero)
    private var sleepers: [Sleeper] = []
    private var watchers: [Watcher] = []
    private var lastNumber = 0
    /// The waits that were cancelled before they had begun.
    private var cancelled: Set<Int> = []
    /// The waits that may still be cancelled.
    private var open: Set<Int> = []

    /// Makes a clock that shows zero.
    public init() {}

    /// The time that the clock shows.
    public var now: Instant { lock.withLock { time } }

    /// The smallest step of the clock: one attosecond, as in `Duration`.
    public var minimumResolution: Duration { Duration(secondsComponent: 0, attosecondsComponent: 1) }

    /// How many tasks sleep.
    public var sleeperCount: Int { lock.withLock { sleepers.count } }

    /// Sleeps until the clock has been advanced to `deadline`.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let number = openWait()
        defer { closeWait(number) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                fallAsleep(Sleeper(number: number, deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            cancel(number)
        }
    }

    /// Moves the clock on, and wakes the tasks whose deadline has come, earliest deadline first.
    ///
    /// Tasks with the same deadline wake in the order in which they began to sleep. Tasks of one priority on one actor
    /// also run in the order of their wake-ups.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a clock does not go back")
        let due = lock.withLock {
            time = time.advanced(by: duration)
            let due = sleepers.filter { $0.deadline <= time }
            sleepers.removeAll { $0.deadline <= time }
            return due.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Returns when at least `count` tasks sleep, which is the moment to advance the clock.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func waitForSleepers(_ count: Int) async throws {
        let number = openWait()
        defer { closeWait(number) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                watch(Watcher(number: number, count: count, continuation: continuation))
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func openWait() -> Int {
        lock.withLock {
            lastNumber += 1
            open.insert(lastNumber)
            return lastNumber
        }
    }

    private func closeWait(_ number: Int) {
        lock.withLock {
            open.remove(number)
            cancelled.remove(number)
        }
    }

    private func fallAsleep(_ sleeper: Sleeper) {
        let (isCancelled, isDue, satisfied) = lock.withLock { () -> (Bool, Bool, [Watcher]) in
            if cancelled.remove(sleeper.number) != nil { return (true, false, []) }
            if sleeper.deadline <= time { return (false, true, []) }
            sleepers.append(sleeper)
            let satisfied = watchers.filter { $0.count <= sleepers.count }
            watchers.removeAll { $0.count <= sleepers.count }
            return (false, false, satisfied)
        }
        if isCancelled {
            sleeper.continuation.resume(throwing: CancellationError())
        } else if isDue {
            sleeper.continuation.resume()
        }
        for watcher in satisfied { watcher.continuation.resume() }
    }

    private func watch(_ watcher: Watcher) {
        let result: Result<Void, any Error>? = lock.withLock {
            if cancelled.remove(watcher.number) != nil { return .failure(CancellationError()) }
            if watcher.count <= sleepers.count { return .success(()) }
            watchers.append(watcher)
            return nil
        }
        if let result { watcher.continuation.resume(with: result) }
    }

    private func cancel(_ number: Int) {
        let continuation: CheckedContinuation<Void, any Error>? = lock.withLock {
            if let index = sleepers.firstIndex(where: { $0.number == number }) {
                return sleepers.remove(at: index).continuation
            }
            if let index = watchers.firstIndex(where: { $0.number == number }) {
                return watchers.remove(at: index).continuation
            }
            // The wait has not begun yet, or has ended already.
            if open.contains(number) { cancelled.insert(number) }
            return nil
        }
        continuation?.resume(throwing: CancellationError())
    }
}
