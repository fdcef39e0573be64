public import DomainEvents
import Locks

/// Keeps the events of a publisher in the order of publishing: all events, or only those of some types.
///
/// ```swift
/// let recorder = EventRecorder(publisher)
/// warehouse.order(7)
/// let provisioned = try await recorder.next(BoxProvisioned.self)
/// ```
///
/// The publishing thread records an event before it calls inline handlers. So an event is recorded when `publish`
/// returns; an event that a handler publishes, when the outermost `publish` returns; and an event that a transaction
/// holds, when the transaction ends. The recorder stops when it is released.
public final class EventRecorder: Sendable {
    /// The publisher whose events the recorder keeps.
    public let publisher: EventPublisher

    private let log = RecordedEvents()
    /// Adds each type that the publisher uses to the recorder; nil if the recorder is limited to some types.
    private let registration: RecorderRegistration?

    /// Records the events of all types from now on, including types that are not used yet.
    ///
    /// A bridge counts the recorder as a subscriber of every type that this process uses.
    public init(_ publisher: EventPublisher) {
        self.publisher = publisher
        let registration = RecorderRegistration(publisher, log)
        self.registration = registration
        publisher.addInterestObserver(registration)
    }

    /// Makes a mock: a recorder of all events on its own ``publisher``, which delivers nothing.
    ///
    /// ```swift
    /// let mock = EventRecorder()
    /// DissolveBox(publisher: mock.publisher).dissolve(7)
    /// #expect(mock.names == ["BoxItemsRedistributionFailed", "BoxRemovalFailed"])
    /// ```
    ///
    /// On this publisher `deliver` succeeds at once, and a request gets no answer.
    public convenience init() {
        self.init(.null())
    }

    /// Records the events of these types from now on; more types can be added with ``record(_:)``.
    public init<First: DomainEvent, each E: DomainEvent>(
        _ publisher: EventPublisher,
        for first: First.Type,
        _ others: repeat (each E).Type
    ) {
        self.publisher = publisher
        registration = nil
        record(first, repeat each others)
    }

    deinit {
        if let registration { publisher.removeInterestObserver(registration) }
        // A subscription's handler holds the log, and the log holds the subscriptions.
        log.endSubscriptions()
    }

    /// Records the events of these types too, from now on; no event is recorded twice.
    public func record<each E: DomainEvent>(_ types: repeat (each E).Type) {
        repeat record(one: each types)
    }

    private func record<E: DomainEvent>(one type: E.Type) {
        log.record(publisher.channel(of: type), of: publisher)
    }

    /// All recorded events, including those that ``next(_:within:clock:)`` has returned.
    public var all: [any DomainEvent] { log.all }

    /// The names of all recorded events.
    public var names: [String] { log.all.map(\.nameOfEvent) }

    /// The recorded events of one type, including those that ``next(_:within:clock:)`` has returned.
    public func events<E: DomainEvent>(_ type: E.Type) -> [E] {
        log.all.compactMap { $0 as? E }
    }

    /// Returns the first event of this type that no `next` has returned yet; waits if there is none.
    ///
    /// The call skips events of other types.
    /// - Parameters:
    ///   - type: the event's type.
    ///   - limit: how long the call waits.
    ///   - clock: the clock that measures the wait; by default the machine's monotonic clock, so setting the date does
    ///     not change the wait.
    /// - Throws: ``EventNotRecorded`` when the time is over or the type is not recorded at all; the error lists what
    ///   was recorded instead. `CancellationError` when the task is cancelled.
    @discardableResult
    public func next<E: DomainEvent>(
        _ type: E.Type,
        within limit: Duration = .seconds(10),
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> E {
        let ticket = log.makeTicket()
        let log = log
        let watchdog = Task.detached(executorPreference: Simulation.taskExecutor) {
            try await clock.sleepHere(for: limit)
            log.giveUp(ticket, E.eventName, after: limit)
        }
        defer {
            watchdog.cancel()
            log.returnTicket(ticket)
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                log.take(type, named: E.eventName, ticket: ticket, isCancelled: Task.isCancelled) { result in
                    continuation.resume(with: result)
                }
            }
        } onCancel: {
            log.cancel(ticket)
        }
    }
}
