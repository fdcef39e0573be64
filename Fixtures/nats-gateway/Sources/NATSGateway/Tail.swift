/// The end of a stream, as the broker tells it.
struct Tail: Equatable, Sendable {
    /// When the stream was made, in nanoseconds since 1970 by the broker's clock; another time means another stream.
    var created: Int64
    /// The place of the last message that the stream got, from 1; 0 if it never had one.
    var sequence: UInt64
    /// The identity of the last message, empty if it has none; nil if the message is gone, or there never was one.
    var last: String?
    /// The identities of the last messages, for a gateway that begins.
    var recent: Set<String> = []

    /// How many messages ``recent`` goes back: the window of a link, in events.
    ///
    /// The host never gives an event again that is further back.
    static let remembered: UInt64 = 4_096
}
