/// An event of another machine, with the identity, time and causes that its publisher there gave it.
///
/// A gateway makes this value and gives it to ``EventPublisher/send(importing:bookmark:)``. So the event keeps the
/// identity, the time, the cause and the place in a trace that it had on its own machine.
public struct ImportedEvent: Sendable {
    /// The event's name and content.
    public let event: UntypedEvent
    let context: EventContext

    /// The longest name of a foreign process that a frame may have, in UTF-8 bytes.
    private static let longestOrigin = 256

    /// Makes an event of another machine.
    ///
    /// - Parameters:
    ///   - event: the event's name and content.
    ///   - id: the event's identity; its origin has the form `node/process`, such as `berlin/host`.
    ///   - nanosecondsSinceEpoch: when the event was published, by that machine's clock; the present time by default.
    ///   - cause: the event that caused it. Its origin has the same form, or is a process of this machine.
    ///   - root: the first event of the chain of causes; nil if the cause or the event itself is the first. The root is
    ///     kept even if the cause is not known.
    ///   - traceparent: where in a distributed trace the event belongs.
    ///   - attempt: 2 or more if this may be a repeat: an earlier start of the gateway may have imported the event.
    /// - Throws: ``DeliveryError`` with the code `notEncodable` if an origin has another form, is empty or is too long.
    public init(
        _ event: UntypedEvent,
        id: EventID,
        nanosecondsSinceEpoch: UInt64? = nil,
        cause: EventID? = nil,
        root: EventID? = nil,
        traceparent: Traceparent? = nil,
        attempt: Int = 1
    ) throws(DeliveryError) {
        guard id.isForeign else {
            throw UntypedEvent.error(
                event.name,
                "\"\(id.origin.prefix(256))\" is no process of another machine, as in \"berlin/host\""
            )
        }
        for origin in [id.origin, cause?.origin, root?.origin].compactMap({ $0 })
        where !(1...Self.longestOrigin).contains(origin.utf8.count) {
            throw UntypedEvent.error(
                event.name,
                "a process has a name of 1 to \(Self.longestOrigin) bytes; found \(origin.utf8.count)"
            )
        }
        self.event = event
        context = EventContext(
            id: id,
            nanosecondsSinceEpoch: nanosecondsSinceEpoch ?? WallTime.now(),
            attempt: min(max(attempt, 1), Int(UInt32.max)),
            cause: cause,
            root: root == cause ? nil : root,
            traceparent: traceparent
        )
    }
}
