import Locks

/// A wait for the outcome of a delivery: it ends once, by its outcome, its time, or its task's cancellation.
///
/// If the event need not wait for room and has no handler on the publishing thread, the caller publishes it itself; as
/// with `publish`, this may wait for a journal's file system. In all other cases a separate task publishes the event.
/// When the wait has ended, the event has left or will never leave, so the caller's next event comes after it.
package final class DeliveryWait<Value: Sendable>: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Also guards the delivery's ledger, tracker and unfinished handlers: each further lock would cost an allocation.
    let lock = Lock()
    private var outcome: Result<Value, any Error>?
    /// The outcome's number in the event's ledger; nil if the ledger does not hold it, or as long as the wait goes on.
    private var claim: Int?
    private var waiter: CheckedContinuation<Value, any Error>?
    private var departure = Departure.ahead
    /// Whether the event has begun to leave; if the wait ends before that, the event never leaves.
    private var isLeaving = false
    private let isUntilSafe: Bool
    private var laterRecorders = LaterRecorders()

    /// - Parameter isUntilSafe: whether the caller waits for the journals in ``recorders`` too; if not, none are noted.
    init(untilSafe isUntilSafe: Bool = false) { self.isUntilSafe = isUntilSafe }

    /// How far the event is on its way into the outboxes and strands.
    private enum Departure {
        case ahead
        case underWay
        case over
    }

    /// Ends the wait; the first outcome counts.
    ///
    /// - Parameter failure: the number of the failure that is the outcome; nil if the event's ledger does not hold it.
    func finish(_ outcome: Result<Value, any Error>, claiming failure: Int? = nil) {
        resume {
            if self.outcome == nil { (self.outcome, claim) = (outcome, failure) }
        }
    }

    /// The number of the failure that is the outcome; nil if the event's ledger does not hold the outcome.
    var claimed: Int? { lock.withLock { claim } }

    /// Called before the event is put into outboxes and strands; the wait does not end until ``hasLeft()`` or
    /// ``awaitsRoom()``.
    ///
    /// - Throws: `CancellationError` if the wait has ended; then the event does not leave.
    package func beginLeaving() throws {
        try lock.withLock {
            guard outcome == nil else { throw CancellationError() }
            (departure, isLeaving) = (.underWay, true)
        }
    }

    /// Called after ``beginLeaving()`` if the event has not left, because it has to wait for room first.
    func awaitsRoom() { resume { (departure, isLeaving) = (.ahead, false) } }

    /// Notes the journals to which the event is about to go, if the caller waits until the event is safe.
    func willPublish(to destinations: Destinations) {
        guard isUntilSafe, destinations.first.subscribers.isSafeLater else { return }
        let recorders = LaterRecorders(of: destinations)
        lock.withLock { laterRecorders = recorders }
    }

    /// The journals that record the event and make it safe later, as far as they were noted.
    var recorders: LaterRecorders { lock.withLock { laterRecorders } }

    /// Whether the event has left or is about to; final once the wait has ended.
    var hasBegunLeaving: Bool { lock.withLock { isLeaving } }

    /// Called when the event lies in every outbox and strand that it goes to, or will not leave.
    package func hasLeft() { resume { departure = .over } }

    /// Makes a change, and resumes the caller if the wait has ended by now.
    private func resume(after change: () -> Void) {
        let ended = lock.withLock { () -> (CheckedContinuation<Value, any Error>, Result<Value, any Error>)? in
            change()
            guard departure != .underWay, let outcome, let waiter else { return nil }
            self.waiter = nil
            return (waiter, outcome)
        }
        if let (waiter, outcome) = ended { waiter.resume(with: outcome) }
    }

    // MARK: - The caller

    /// Runs `start`, which publishes the event, in a task, then returns the outcome.
    ///
    /// - Parameter timeIsOver: called after `limit`; has to end the wait.
    func value(
        within limit: Duration,
        clock: any Clock<Duration>,
        timeIsOver: @escaping @Sendable () -> Void,
        start: @escaping @Sendable () async throws -> Void
    ) async throws -> Value {
        try Task.checkCancellation()
        let deadline = DeliveryDeadline(after: limit, by: clock, timeIsOver: timeIsOver)
        defer { deadline.cancel() }
        return try await value(by: deadline, start: start)
    }

    /// Runs `start`, which publishes the event, in a task, then returns the outcome.
    ///
    /// - Parameter deadline: has to end the wait; the caller cancels it.
    func value(
        by deadline: DeliveryDeadline,
        start: @escaping @Sendable () async throws -> Void
    ) async throws -> Value {
        // A separate task, so that the end of the time also ends a wait for room, or for a handler on the publishing
        // thread.
        let starter = Task(executorPreference: Simulation.taskExecutor) { [self] in
            do {
                try await start()
            } catch {
                finish(.failure(error))
            }
            hasLeft()
        }
        // Once the event has begun to leave, the task only calls handlers. An answer from one handler must not cancel
        // the task in which the others run.
        defer { if lock.withLock({ departure == .ahead }) { starter.cancel() } }
        return try await value(by: deadline)
    }

    /// Calls `start`, which publishes the event, on this thread; ``value(by:)`` then returns the outcome.
    ///
    /// - Parameter start: returns false if the event has to wait for room first.
    /// - Returns: False if `start` does; then the wait has not begun.
    func begin(_ start: () throws -> Bool) -> Bool {
        do {
            guard try start() else { return false }
        } catch {
            finish(.failure(error))
        }
        hasLeft()
        return true
    }

    /// Returns the outcome of an event that has left or is about to leave.
    ///
    /// - Parameter deadline: has to end the wait; the caller cancels it.
    func value(by deadline: DeliveryDeadline) async throws -> Value {
        if let value = try valueAtOnce() { return value }
        deadline.arm()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                resume { waiter = continuation }
            }
        } onCancel: {
            Simulation.undivided { finish(.failure(CancellationError())) }
        }
    }

    /// The outcome, if the wait has ended; nil if it goes on.
    private func valueAtOnce() throws -> Value? {
        let ended = lock.withLock { departure == .underWay ? nil : outcome }
        return try ended?.get()
    }
}

/// Which handlers a delivery still waits for; the error's sentence names them.
final class UnfinishedHandlers: @unchecked Sendable {
    // Sendable: guarded by `lock`.

    /// An inline handler, without what the handler has captured.
    struct Inline {
        let gate: CallGate
        let site: SubscriptionSite
    }

    private let lock: Lock
    private var tracker: HandlingTracker?
    /// The inline handlers while they are called, in the order of the calls.
    private var inline: [Inline] = []

    /// - Parameter lock: guards these handlers; may be the lock of the caller's wait.
    init(lock: Lock = Lock()) {
        self.lock = lock
    }

    func set(_ tracker: HandlingTracker) {
        lock.withLock { self.tracker = tracker }
    }

    /// Notes the inline handlers that the calling thread calls now; called with none when they have returned.
    func set(inline: [Inline]) {
        lock.withLock { self.inline = inline }
    }

    var text: String {
        let (tracker, inline) = lock.withLock { (self.tracker, self.inline) }
        // The handlers before the running one have returned. One that already runs for another event is named, too.
        let running = inline.firstIndex { !$0.gate.isIdle } ?? 0
        let sites = Set(inline[running...].map(\.site)).union(tracker?.unfinishedSites ?? []).map(\.description)
            .sorted()
        return sites.isEmpty ? "" : "; not done: the handler at \(sites.joined(separator: ", at "))"
    }
}
