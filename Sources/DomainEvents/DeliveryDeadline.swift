import Locks

/// The end of the time for which a caller waits.
///
/// Most callers give no clock, and most waits end long before their time. So the waits by the system's clock share one
/// task that sleeps. Such a wait costs an entry in a heap; if the outcome is there at once, it costs not even that.
enum DeliveryDeadline: Sendable {
    /// By the system's clock.
    case shared(SharedDeadline)
    /// By another clock, or by the clock of a simulation; the task sleeps for this wait alone.
    case alone(Task<Void, any Error>)

    /// The time begins with this call.
    ///
    /// - Parameter timeIsOver: called after `limit` if the caller still waits, or if its wait ends at that moment; must
    ///   call no handler.
    init(after limit: Duration, by clock: any Clock<Duration>, timeIsOver: @escaping @Sendable () -> Void) {
        if clock.isContinuousHere {
            self = .shared(SharedDeadline(ContinuousClock.now.advanced(by: limit), timeIsOver))
            return
        }
        let watchdog = Task.detached(executorPreference: Simulation.taskExecutor) {
            try await clock.sleepHere(for: limit)
            timeIsOver()
        }
        self = .alone(watchdog)
    }

    /// Called before the caller is suspended: from now on, the wait ends when the time is over.
    func arm() {
        if case .shared(let deadline) = self { SharedDeadlines.all.add(deadline) }
    }

    /// Called when the caller waits no longer.
    func cancel() {
        switch self {
        case .shared(let deadline): SharedDeadlines.all.remove(deadline)
        case .alone(let watchdog): watchdog.cancel()
        }
    }
}

/// A deadline by the system's clock.
final class SharedDeadline: @unchecked Sendable {
    // Sendable: only the heap that has the deadline uses `place`, and the lock of the heap's owner guards it.

    let end: ContinuousClock.Instant
    let timeIsOver: @Sendable () -> Void
    /// The place in the heap; nil if the deadline is in none.
    fileprivate(set) var place: Int?

    init(_ end: ContinuousClock.Instant, _ timeIsOver: @escaping @Sendable () -> Void) {
        (self.end, self.timeIsOver) = (end, timeIsOver)
    }
}

/// The deadlines of all waits by the system's clock, and the task that sleeps until the earliest of them.
final class SharedDeadlines: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    static let all = SharedDeadlines()

    /// How long the task sleeps at a time, at most.
    ///
    /// A cancelled sleep leaves its timer behind until the sleep's end, and a system may end a long sleep late.
    private static let longestSleep = Duration.seconds(5)

    private let lock = Lock()
    private var heap = DeadlineHeap()
    /// When the sleeping task looks at the deadlines again; nil if no task sleeps.
    private var wakeUp: ContinuousClock.Instant?
    private var sleeper: Task<Void, Never>?
    /// How many sleeping tasks were started, so that a task learns that another one has taken its place.
    private var sleepers = 0

    func add(_ deadline: SharedDeadline) {
        let replaced = lock.withLock { () -> Task<Void, Never>? in
            heap.insert(deadline)
            if let wakeUp, wakeUp <= deadline.end { return nil }
            let end = min(deadline.end, ContinuousClock.now.advanced(by: Self.longestSleep))
            wakeUp = end
            sleepers += 1
            let (number, previous) = (sleepers, sleeper)
            // The task may sleep long after this wait has ended, so it holds only the instant, not the deadline.
            sleeper = Task.detached { [self] in await sleep(until: end, as: number) }
            return previous
        }
        replaced?.cancel()
    }

    func remove(_ deadline: SharedDeadline) {
        lock.withLock { heap.remove(deadline) }
    }

    private func sleep(until first: ContinuousClock.Instant, as number: Int) async {
        var next: ContinuousClock.Instant? = first
        while let wakeUp = next {
            do {
                try await ContinuousClock().sleep(until: wakeUp)
            } catch {
                // Another task has taken this one's place.
                return
            }
            next = endWaits(as: number)
        }
    }

    /// Ends the waits whose time is over.
    ///
    /// - Returns: When the calling task has to do this again; nil if it has nothing more to do.
    private func endWaits(as number: Int) -> ContinuousClock.Instant? {
        let (due, next) = lock.withLock { () -> ([SharedDeadline], ContinuousClock.Instant?) in
            let now = ContinuousClock.now
            let due = heap.removeAll(until: now)
            guard number == sleepers else { return (due, nil) }
            wakeUp = heap.first.map { min($0.end, now.advanced(by: Self.longestSleep)) }
            if wakeUp == nil { sleeper = nil }
            return (due, wakeUp)
        }
        for deadline in due { deadline.timeIsOver() }
        return next
    }
}

/// Deadlines with the earliest on top: a binary heap in which each deadline knows its place, so that the deadline of a
/// wait that has ended leaves at once.
struct DeadlineHeap {
    private var deadlines: [SharedDeadline] = []

    var first: SharedDeadline? { deadlines.first }

    mutating func insert(_ deadline: SharedDeadline) {
        deadlines.append(deadline)
        put(deadline, from: deadlines.count - 1)
    }

    /// Takes a deadline out, if it is in the heap.
    mutating func remove(_ deadline: SharedDeadline) {
        guard let place = deadline.place else { return }
        deadline.place = nil
        let last = deadlines.removeLast()
        if last !== deadline { put(last, from: place) }
    }

    /// Takes out the deadlines that are no later than this instant; returns them in their order.
    mutating func removeAll(until instant: ContinuousClock.Instant) -> [SharedDeadline] {
        var removed: [SharedDeadline] = []
        while let first = deadlines.first, first.end <= instant {
            remove(first)
            removed.append(first)
        }
        return removed
    }

    /// Puts a deadline where it belongs; the entry at `start` is free.
    private mutating func put(_ deadline: SharedDeadline, from start: Int) {
        var place = start
        while place > 0, deadline.end < deadlines[(place - 1) / 2].end {
            move(from: (place - 1) / 2, to: place)
            place = (place - 1) / 2
        }
        while 2 * place + 1 < deadlines.count {
            var child = 2 * place + 1
            if child + 1 < deadlines.count, deadlines[child + 1].end < deadlines[child].end { child += 1 }
            guard deadlines[child].end < deadline.end else { break }
            move(from: child, to: place)
            place = child
        }
        deadlines[place] = deadline
        deadline.place = place
    }

    private mutating func move(from: Int, to place: Int) {
        let deadline = deadlines[from]
        deadlines[place] = deadline
        deadline.place = place
    }
}
