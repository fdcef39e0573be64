/// An event of another node, on its way to the host.
public struct ImportedEvent: Sendable {
    /// What never changes: behind one reference, because the event passes through several queues.
    private final class Content: Sendable {
        let node: Node
        let headers: EventHeaders
        let payload: [UInt8]

        init(node: Node, headers: EventHeaders, payload: [UInt8]) {
            self.node = node
            self.headers = headers
            self.payload = payload
        }
    }

    private let content: Content
    /// Whether this process or an earlier one of this gateway may have given the event to the host before.
    public internal(set) var mayBeRepeat = false
    /// The places in all streams with this event; nil if the host keeps no bookmarks.
    public var bookmark: [UInt8]?

    init(node: Node, headers: EventHeaders, payload: [UInt8]) {
        content = Content(node: node, headers: headers, payload: payload)
    }

    /// The node whose stream it comes from.
    public var node: Node { content.node }
    /// What travelled with the event.
    public var headers: EventHeaders { content.headers }
    /// One item of CBOR, if the other node's gateway did what it should.
    public var payload: [UInt8] { content.payload }
}
