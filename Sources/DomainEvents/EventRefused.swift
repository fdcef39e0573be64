/// A process refused an event that it could not decode, that was invalid or forbidden, or on which a handler threw.
///
/// The refusal settles the event: it does not come again by itself.
public struct EventRefused: DomainEvent, SelfReport {
    /// The name of the event.
    public let event: String

    /// The identity of the event, as ``EventID/description`` spells it.
    public let id: String

    /// The process that refused the event.
    public let worker: String

    /// The reason in the words of the process that refused it; for an event that does not decode, the path of the
    /// field, what was found there and what was expected.
    public let reason: String

    /// 1: the event cannot be decoded; 2: it is invalid; 3: a handler threw; 4: the worker may not publish it.
    public let code: UInt64

    /// Makes the event.
    public init(event: String, id: String, worker: String, reason: String, code: UInt64) {
        self.event = event
        self.id = id
        self.worker = worker
        self.reason = reason
        self.code = code
    }
}
