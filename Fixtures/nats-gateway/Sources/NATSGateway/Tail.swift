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
    /// While host and gateway live on, or the gateway alone ends, the host gives no event again that is further back.
    /// But the host may redeliver an old dead letter, and a new host may deliver an event that a killed host's journal
    /// does not call settled. Such an event is stored a second time, with its ``EventHeaders/attempt`` in the headers.
    static let remembered: UInt64 = 4_096
}
