/// An event that the host has given to the gateway, and that waits to be stored at the broker.
public struct ExportedEvent: Sendable {
    /// What travels with the event.
    public let headers: EventHeaders
    /// One item of CBOR.
    public let payload: [UInt8]
    /// Whether the host has given the event to a process of this gateway before.
    public let isRepeat: Bool
    /// Called once, from any thread: the event is stored, or never will be, and why.
    let settle: @Sendable (_ refusal: String?) -> Void

    /// Makes an event that waits.
    public init(
        headers: EventHeaders,
        payload: [UInt8],
        isRepeat: Bool,
        settle: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        self.headers = headers
        self.payload = payload
        self.isRepeat = isRepeat
        self.settle = settle
    }
}
