/// A handler threw, or a journal could not record an event, and no waiting caller or process got the error.
///
/// The publisher publishes this once for each such error. If a handler throws on a report of the publisher or the
/// bridge, no `HandlerFailed` follows.
public struct HandlerFailed: DomainEvent, SelfReport {
    /// The name of the event whose handler threw.
    public let event: String

    /// The identity of that event, as ``EventID/description`` spells it.
    public let id: String

    /// The error in words.
    public let error: String

    /// Where the handler was subscribed: module, file and line.
    public let handler: String

    /// Makes the event.
    public init(event: String, id: String, error: String, handler: String) {
        self.event = event
        self.id = id
        self.error = error
        self.handler = handler
    }
}
