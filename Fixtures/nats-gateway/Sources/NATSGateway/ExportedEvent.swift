/// An event that the host has given to the gateway, and that waits to be stored at the broker.
///
/// Thousands may wait while the broker is away, so what is needed only at the broker is made when it is needed.
public struct ExportedEvent: Sendable {
    /// The event's identity, as the broker gets it.
    let identity: String
    /// What travels with the event.
    let headers: @Sendable () -> EventHeaders
    /// One item of CBOR.
    let payload: [UInt8]
    /// Whether the host has given the event to a process of this gateway before.
    let isRepeat: Bool
    /// Called once, from any thread: the event is stored, or never will be, and why.
    let settle: @Sendable (_ refusal: String?) -> Void

    /// Makes an event that waits.
    ///
    /// - Parameters:
    ///   - id: the event's identity, the one that its headers have.
    ///   - payload: one item of CBOR.
    ///   - isRepeat: whether the host has given the event to a process of this gateway before.
    ///   - headers: what travels with the event; may be called several times, from any thread.
    ///   - settle: is called once, from any thread: the event is stored, or never will be, and why.
    public init(
        id: String,
        payload: [UInt8],
        isRepeat: Bool,
        headers: @escaping @Sendable () -> EventHeaders,
        settle: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        identity = EscapedName.text(of: id)
        self.headers = headers
        self.payload = payload
        self.isRepeat = isRepeat
        self.settle = settle
    }
}
