/// What an event of a run carries: who it is, what its handler is to do wrong, and a hash over all of it.
package struct ChaosPayload: Codable, Sendable {
    package let stream: UInt8
    /// Of the sending process, as it stands in the event's identity too.
    package let incarnation: UInt64
    /// Counts the stream's events from 1.
    package let number: UInt64
    package let isRefused: Bool
    /// How long its handler takes, in microseconds.
    package let delay: UInt32
    package let filler: String
    package let hash: UInt64

    package init(
        stream: ChaosStream,
        incarnation: UInt64,
        number: UInt64,
        isRefused: Bool = false,
        delay: UInt32 = 0,
        fillerBytes: Int = 0
    ) {
        self.stream = stream.rawValue
        self.incarnation = incarnation
        self.number = number
        self.isRefused = isRefused
        self.delay = delay
        filler = String(repeating: "x", count: fillerBytes)
        hash = Self.hash(stream.rawValue, incarnation, number, isRefused, delay, filler)
    }

    /// Whether it arrived as it was sent.
    package var isIntact: Bool { hash == Self.hash(stream, incarnation, number, isRefused, delay, filler) }

    private static func hash(
        _ stream: UInt8,
        _ incarnation: UInt64,
        _ number: UInt64,
        _ isRefused: Bool,
        _ delay: UInt32,
        _ filler: String
    ) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ value: UInt64) {
            hash = (hash ^ value) &* 0x0000_0100_0000_01B3
            hash ^= hash >> 29
        }
        add(UInt64(stream))
        add(incarnation)
        add(number)
        add(isRefused ? 1 : 2)
        add(UInt64(delay))
        for byte in filler.utf8 { add(UInt64(byte)) }
        return hash
    }
}
