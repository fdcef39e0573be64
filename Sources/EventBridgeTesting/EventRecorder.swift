public import DomainEvents

/// Keeps every event of the types it was made for, in the order in which they were published.
///
/// ```swift
/// let recorder = EventRecorder(publisher, for: BoxProvisioned.self, BoxRemoved.self)
/// warehouse.order(7)
/// let provisioned = try await recorder.next(BoxProvisioned.self)
/// ```
///
/// It records on the publishing thread: when `publish` has returned, the event is recorded. It stops when it is released.
public final class EventRecorder: Sendable {
    private let publisher: EventPublisher
    private let log = RecordedEvents()

    /// Records the events of these types from now on; more can be added with ``record(_:)``.
    public init<each E: DomainEvent>(_ publisher: EventPublisher, for types: repeat (each E).Type) {
        self.publisher = publisher
        record(repeat each types)
    }

    deinit {
        // A subscription's handler holds the log, and the log the subscriptions.
        log.endSubscriptions()
    }

    /// Records the events of these types too, from now on; a type that is recorded already is not recorded twice.
    public func record<each E: DomainEvent>(_ types: repeat (each E).Type) {
        repeat record(one: each types)
    }

    private func record<E: DomainEvent>(one type: E.Type) {
        guard log.startRecording(type) else { return }
        let log = log
        log.keep(publisher.subscribe(to: type) { event in log.add(event) })
    }

    /// All recorded events, also those that ``next(_:within:)`` has returned.
    public var all: [any DomainEvent] { log.all }

    /// The recorded events of one type, also those that ``next(_:within:)`` has returned.
    public func events<E: DomainEvent>(_ type: E.Type) -> [E] {
        log.all.compactMap { $0 as? E }
    }

    /// The first event of this type that no `next` has returned yet; waits for it if it has not been published.
    ///
    /// Events of other types do not matter, whether they came before or not.
    /// - Throws: ``EventNotRecorded``, which lists what was recorded instead, when the time is over or the type is not recorded
    ///   at all; `CancellationError` when the task is cancelled.
    @discardableResult
    public func next<E: DomainEvent>(_ type: E.Type, within limit: Duration = .seconds(10)) async throws -> E {
        let ticket = log.makeTicket()
        let log = log
        let watchdog = Task.detached {
            // The machine's own monotonic time: setting its date neither shortens nor lengthens the wait.
            try await ContinuousClock().sleep(for: limit)
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
