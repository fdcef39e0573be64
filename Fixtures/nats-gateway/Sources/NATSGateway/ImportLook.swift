/// What the broker has for a node that reads another node's stream: that stream, and the reader's consumers.
struct ImportLook: Equatable, Sendable {
    /// When the stream was made, in nanoseconds since 1970 by the broker's clock; another time means another stream.
    var created: Int64
    /// The place of the first message, from 1.
    var first: UInt64
    /// The place of the last message that the stream got; 0 if it never had one.
    var last: UInt64
    /// The numbers of the reader's consumers.
    var consumers: [UInt64] = []
    /// The highest place up to which a consumer has been acknowledged, or behind which one began.
    var floor: UInt64 = 0
    /// The highest place that a consumer has brought.
    var delivered: UInt64 = 0
    /// The place that the newest consumer names: when that consumer was made, the host may have kept no place behind
    /// this one; nil if the consumer names none.
    var unkept: UInt64?
    /// The identity of the message at the place that was asked for; nil if there is no such message any more.
    var identity: String?
}
