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
        var reply = reply
        guard let place = reply.withUTF8({ Self(reply: $0) }) else { return nil }
        self = place
    }

    private init?(reply: UnsafeBufferPointer<UInt8>) {
        var rest = reply[...]
        let dot = UInt8(ascii: ".")
        /// The text up to the next dot, which is consumed too.
        func token() -> Slice<UnsafeBufferPointer<UInt8>> {
            let token = rest[..<(rest.firstIndex(of: dot) ?? rest.endIndex)]
            rest = rest[min(token.endIndex + 1, rest.endIndex)...]
            return token
        }
        let tokens = reply.count { $0 == dot } + 1
        guard tokens >= 9, token().elementsEqual("$JS".utf8), token().elementsEqual("ACK".utf8) else { return nil }
        if tokens > 9 {
            // Later servers name the domain and the account first, and a random token last.
            guard tokens > 10 else { return nil }
            _ = (token(), token())
        }
        let (_, consumer, _) = (token(), token(), token())
        guard let sequence = Self.number(token()), let delivery = Self.number(token()) else { return nil }
        _ = token()
        guard let remaining = Self.number(token()) else { return nil }
        self.consumer = String(decoding: consumer, as: UTF8.self)
        self.sequence = sequence
        self.delivery = delivery
        self.remaining = remaining
    }

    /// A count from the broker; nil above `Int64.max`, so that additions to it cannot overflow.
    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        UInt64(digits: digits).flatMap { $0 <= UInt64(Int64.max) ? $0 : nil }
    }
}
