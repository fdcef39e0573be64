/// What travels with an event besides its payload: CloudEvents 1.0 in the binary mode of its NATS binding.
///
/// <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/nats-protocol-binding.md>. The fields that
/// begin with `bridge-` are this gateway's own.
public struct EventHeaders: Hashable, Sendable {
    /// How many nodes an event may have passed at most.
    static let longestPath = 8
    /// The field in which a message names its identity to the broker.
    static let identityField: StaticString = "Nats-Msg-Id"
    /// CBOR, as it comes from the bridge.
    static let contentType = "application/cbor"

    /// The event's identity at the node that published it.
    public var id: String
    /// The process that published it.
    public var source: String
    /// The event's name.
    public var name: String
    /// When it was published, as RFC 3339 writes it; nil if a message does not say.
    public var time: String?
    /// The event that caused it.
    public var cause: String?
    /// The first event of the chain of causes; nil if that is the cause, or the event itself.
    public var root: String?
    /// Its place in a distributed trace.
    public var traceparent: String?
    /// The nodes that it has passed, the first one first.
    public var path: [Node]
    /// How many times its chain of causes has crossed from one node to another, this event included: 1 or more.
    public var crossings: Int
    /// The number, from 1, of the delivery that brought the event to the gateway that exports it.
    ///
    /// Above 1 the event may have been stored before, further back in the stream than that gateway has looked.
    public var attempt: Int

    /// Makes the headers of an event that leaves a node.
    public init(
        id: String,
        source: String,
        name: String,
        time: String? = nil,
        cause: String? = nil,
        root: String? = nil,
        traceparent: String? = nil,
        path: [Node],
        crossings: Int = 1,
        attempt: Int = 1
    ) {
        self.id = id
        self.source = source
        self.name = name
        self.time = time
        self.cause = cause
        self.root = root
        self.traceparent = traceparent
        self.path = path
        self.crossings = crossings
        self.attempt = attempt
    }

    /// The header fields, in the order in which they are written.
    var fields: [HeaderField] {
        var fields: [HeaderField] = []
        // Room for all of these fields, and for those of the message.
        fields.reserveCapacity(15)
        func append(_ name: StaticString, _ value: String?) {
            if let value { fields.append(HeaderField(name: name, value: value)) }
        }
        append("ce-specversion", "1.0")
        append("ce-id", EscapedName.text(of: id))
        append("ce-source", EscapedName.text(of: source))
        append("ce-type", EscapedName.text(of: name))
        append("content-type", Self.contentType)
        append("bridge-node", path.count == 1 ? path[0].name : path.map(\.name).joined(separator: ","))
        if crossings > 1 { append("bridge-crossings", "\(crossings)") }
        if attempt > 1 { append("bridge-attempt", "\(attempt)") }
        append("ce-time", time)
        append("bridge-cause", cause.map(EscapedName.text))
        append("bridge-root", root.map(EscapedName.text))
        append("traceparent", traceparent)
        return fields
    }

    /// Why a message's headers are not those of an event that this node may have.
    struct Mistake: Error, Equatable {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// Reads the headers of a message from another node's stream.
    ///
    /// Optional fields that cannot be read are left out.
    ///
    /// - Parameters:
    ///   - name: the event's name by the message's subject.
    ///   - reader: the node that reads; an event that has been there is refused.
    ///   - field: the value of a header field.
    init(event name: String, reader: Node, field: (StaticString) -> String?) throws(Mistake) {
        func unescaped(_ key: StaticString) -> String? {
            guard let value = field(key), value.utf8.count <= 3 * 1024 else { return nil }
            return EscapedName.name(in: value)
        }
        guard field("ce-specversion") == "1.0" else { throw Mistake("it is no event of CloudEvents 1.0") }
        guard let id = unescaped("ce-id"), !id.isEmpty else { throw Mistake("it has no identity") }
        guard let source = unescaped("ce-source") else { throw Mistake("it has no source") }
        guard unescaped("ce-type") == name else { throw Mistake("its subject and its type differ") }
        guard field("content-type") == Self.contentType else { throw Mistake("its content is not \(Self.contentType)") }
        guard let nodes = Self.nodes(of: field("bridge-node") ?? "") else { throw Mistake("it has no path of nodes") }
        guard !nodes.contains(reader) else { throw Mistake("it has been at \(reader) before") }
        guard nodes.count <= Self.longestPath else { throw Mistake("it passed more than \(Self.longestPath) nodes") }
        self.init(
            id: id,
            source: source,
            name: name,
            time: field("ce-time"),
            cause: unescaped("bridge-cause"),
            root: unescaped("bridge-root"),
            traceparent: field("traceparent"),
            path: nodes,
            crossings: field("bridge-crossings").flatMap { UInt16($0) }.map { max(1, Int($0)) } ?? 1,
            attempt: field("bridge-attempt").flatMap { UInt32($0) }.map { max(1, Int($0)) } ?? 1
        )
    }

    /// The nodes of a path; nil if one of them has no name that a node can have.
    private static func nodes(of path: String) -> [Node]? {
        if let node = Node(path) { return [node] }
        let names = path.utf8.split(separator: UInt8(ascii: ","), maxSplits: longestPath)
        let nodes = names.compactMap { Node(String(Substring($0))) }
        return nodes.isEmpty || nodes.count < names.count ? nil : nodes
    }
}
