/// An event of another node, on its way to the host.
public struct ImportedEvent: Sendable {
    /// The node whose stream it comes from.
    public let node: Node
    /// What travelled with the event.
    public let headers: EventHeaders
    /// One item of CBOR, if the other node's gateway did what it should.
    public let payload: [UInt8]
    /// Whether this process or an earlier one of this gateway may have given the event to the host before.
    public internal(set) var mayBeRepeat = false
    /// The places in all streams with this event; nil if the host keeps no bookmarks.
    public var bookmark: [UInt8]?
}
