/// An event that the host has given to the gateway, and that waits to be stored at the broker.
///
/// Thousands may wait while the broker is away, so an event's headers are made only when it is sent.
public struct ExportedEvent: Sendable {
    /// The message's identity, as the broker gets it: the event's, or in a replay one of its own.
    let identity: String
    /// What travels with the event.
    let headers: @Sendable () -> EventHeaders
    /// One item of CBOR.
    let payload: [UInt8]
    /// Whether the host has given the event to a process of this gateway before.
    let isRepeat: Bool
    /// Called at most once, from any thread: when the event is stored, or with the reason why it never will be.
    let settle: @Sendable (_ refusal: String?) -> Void

    /// Makes an event that waits.
    ///
    /// - Parameters:
    ///   - id: the event's identity, the same as in its headers.
    ///   - payload: one item of CBOR.
    ///   - isRepeat: whether the host has given the event to a process of this gateway before.
    ///   - isReplay: whether an operator has sent the event again. Then the event is stored once more, although the
    ///     stream has it: the message gets an identity that no other message has.
    ///   - headers: what travels with the event; may be called several times, from any thread.
    ///   - settle: is called at most once, from any thread: when the event is stored, or with the reason against it.
    public init(
        id: String,
        payload: [UInt8],
        isRepeat: Bool,
        isReplay: Bool = false,
        headers: @escaping @Sendable () -> EventHeaders,
        settle: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        let escaped = EscapedName.text(of: id)
        // No escaped text has a dot.
        identity = isReplay ? "\(escaped).replay-\(String(UInt64.random(in: 0...(.max)), radix: 16))" : escaped
        self.headers = headers
        self.payload = payload
        self.isRepeat = isRepeat
        self.settle = settle
    }
}
