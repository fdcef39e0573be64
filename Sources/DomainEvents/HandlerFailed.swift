/// Published once if a handler throws on an event that no caller or process waits for.
///
/// Reports never cause further reports: if a handler of the bridge's or the publisher's own events throws, its error is
/// not reported.
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
