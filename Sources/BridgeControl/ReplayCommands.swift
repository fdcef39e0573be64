public import DomainEvents

/// Asks a host to send events of a journal to one worker again, and to no other process.
///
/// The host answers with an ``EventsReplayed`` when the worker has settled the events, however long that takes. A
/// sender that goes away ends the replay: events that the host has not put into the worker's outbox yet are left out.
public struct EventsReplayRequested: DomainEvent, SelfReport, Hashable {
    /// The most events that one command has.
    public static let mostEvents = 64
    /// The most bytes of payloads that one command of several events has.
    public static let mostBytes = 256 << 10

    /// The name of a worker, or of a pool's member.
    public let worker: String
    /// The events, in the order in which the worker gets them; none of them twice.
    public let events: [ReplayedEvent]
    /// Whether the sender's replay to the worker goes on after these events; nil for no.
    ///
    /// If it does, the host takes no replay to this worker from other senders. That ends when the sender gives a
    /// command in which this is not true, when the host refuses the sender's command, or when the sender goes away.
    public let hasMore: Bool?

    /// Makes the command.
    public init(worker: String, events: [ReplayedEvent], hasMore: Bool = false) {
        self.worker = worker
        self.events = events
        self.hasMore = hasMore ? true : nil
    }
}

/// An event of a journal that is sent again, as the journal has it.
public struct ReplayedEvent: Sendable, Hashable, Codable {
    /// The name of the event.
    public var event: String
    /// The identity of the event, as `EventID` spells it; ``cause`` and ``root`` are spelled in the same way.
    public var id: String
    /// When the event was published, in nanoseconds since 1970-01-01 00:00 UTC.
    public var nanosecondsSinceEpoch: UInt64
    /// The event that caused this one; nil if nothing did.
    public var cause: String?
    /// The first event of the chain of causes; nil if that is the cause or the event itself.
    public var root: String?
    /// Where in a distributed trace the event belongs, as W3C spells it; nil for nowhere.
    public var traceparent: String?
    /// The event in its encoded form, one CBOR item.
    public var payload: [UInt8]

    /// Makes an event to send again.
    public init(
        event: String,
        id: String,
        nanosecondsSinceEpoch: UInt64,
        cause: String? = nil,
        root: String? = nil,
        traceparent: String? = nil,
        payload: [UInt8]
    ) {
        self.event = event
        self.id = id
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.cause = cause
        self.root = root
        self.traceparent = traceparent
        self.payload = payload
    }

    /// Makes an event to send again, with the identity, time, causes and trace of a context.
    public init(event: String, context: EventContext, payload: [UInt8]) {
        self.init(
            event: event,
            id: context.id.description,
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            cause: context.cause?.description,
            root: context.root == context.cause ?? context.id ? nil : context.root.description,
            traceparent: context.traceparent?.description,
            payload: payload
        )
    }
}

/// The answer of a host to an ``EventsReplayRequested``.
public struct EventsReplayed: DomainEvent, SelfReport, Hashable {
    /// The outcome of the command.
    public let outcome: ReplayOutcome

    /// Makes the answer.
    public init(_ outcome: ReplayOutcome) {
        self.outcome = outcome
    }
}
