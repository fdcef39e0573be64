/// What there is at the broker for a node that reads another's stream: the stream, and the consumers of that node.
struct ImportLook: Equatable, Sendable {
    /// When the stream was made, in nanoseconds since 1970 by the broker's clock; another time means another stream.
    var created: Int64
    /// The place of the first message, from 1.
    var first: UInt64
    /// The place of the last message that the stream got; 0 if it never had one.
    var last: UInt64
    /// The numbers of the node's consumers.
    var consumers: [UInt64] = []
    /// The highest place up to which one of them has been acknowledged, or behind which one of them began.
    var floor: UInt64 = 0
    /// The highest place that one of them has brought.
    var delivered: UInt64 = 0
    /// The identity of the message at the place that was asked for; nil if there is no such message any more.
    var identity: String?
}
