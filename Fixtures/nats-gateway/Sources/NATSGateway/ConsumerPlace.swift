/// Where a message stands in a stream and in the consumer that brings it, as its reply subject says.
struct ConsumerPlace: Equatable, Sendable {
    let consumer: String
    /// The place in the stream, from 1.
    let sequence: UInt64
    /// The count of the consumer's deliveries, from 1; a missing number means a lost message.
    let delivery: UInt64
    /// How many messages the consumer has not sent yet.
    let remaining: UInt64

    /// - Returns: Nil if the subject is not that of a message's acknowledgement.
    init?(reply: String) {
        var parts = reply.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)[...]
        guard parts.count >= 9, parts.removeFirst().elementsEqual("$JS".utf8),
            parts.removeFirst().elementsEqual("ACK".utf8)
        else { return nil }
        // Later servers name the domain and the account first, and a random token last.
        if parts.count > 7 { parts.removeFirst(2) }
        parts.removeFirst()
        guard parts.count >= 6, let consumer = parts.popFirst(), parts.popFirst() != nil,
            let sequence = Self.number(parts.popFirst()), let delivery = Self.number(parts.popFirst()),
            parts.popFirst() != nil, let remaining = Self.number(parts.popFirst())
        else { return nil }
        self.consumer = String(Substring(consumer))
        self.sequence = sequence
        self.delivery = delivery
        self.remaining = remaining
    }

    /// A count from the broker; nil above `Int64.max`, so that additions to it cannot overflow.
    private static func number(_ text: Substring.UTF8View?) -> UInt64? {
        text.flatMap { Int64(Substring($0)) }.flatMap { UInt64(exactly: $0) }
    }
}
