/// The payload of a run's events: the event's identity, what its handler is to do wrong, and a hash over all of it.
package struct ChaosPayload: Codable, Sendable {
    package let stream: UInt8
    /// The incarnation of the sending process, which is also part of the event's identity.
    package let incarnation: UInt64
    /// Counts the stream's events from 1.
    package let number: UInt64
    package let isRefused: Bool
    /// How long the event's handler takes, in microseconds.
    package let delay: UInt32
    package let filler: String
    package let hash: UInt64

    /// An event of this size or more is placed in memory that host and worker share, instead of written to their link.
    private static let placedBytes = 32_768

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

    /// Makes a payload from fields that no bridge has decoded.
    package init(
        stream: UInt8,
        incarnation: UInt64,
        number: UInt64,
        isRefused: Bool,
        delay: UInt32,
        filler: String,
        hash: UInt64
    ) {
        self.stream = stream
        self.incarnation = incarnation
        self.number = number
        self.isRefused = isRefused
        self.delay = delay
        self.filler = filler
        self.hash = hash
    }

    /// Whether the event arrived as it was sent.
    package var isIntact: Bool { hash == Self.hash(stream, incarnation, number, isRefused, delay, filler) }

    /// Whether the event's identity fits; an event of a client has the identity under which the host knows the client.
    func isOf(incarnation: UInt64?) -> Bool {
        incarnation == self.incarnation || ChaosStream(rawValue: stream)?.origin == .client
    }

    /// Whether the event is large enough to be placed.
    package var isLarge: Bool { filler.utf8.count >= Self.placedBytes }

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
        var filler = filler
        filler.withUTF8 { bytes in
            let whole = bytes.count & ~7
            let raw = UnsafeRawBufferPointer(bytes)
            // These loops use no generic code, which is slow in debug builds: a large event takes thousands of steps.
            var offset = 0
            while offset < whole {
                add(raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            while offset < raw.count {
                add(UInt64(raw[offset]))
                offset += 1
            }
        }
        return hash
    }
}
