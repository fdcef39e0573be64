import BridgePlatform

/// How the handling of an event went, so far.
package enum Handling: UInt64, Sendable {
    case begun = 1
    case returned
    /// The handler threw: the event is refused, which settles it.
    case threw
    /// The payload was not as it had been sent, or had another identity.
    case damaged
    /// Given up: written by the host, for the party that will not get the event.
    case deadLettered
    /// No event: at this place as many events are missing as the number says.
    case gap
}

/// An event that was handed to a handler.
package struct HandledRecord: Sendable {
    package let incarnation: UInt64
    package let number: UInt64
    package let stream: UInt8
    package let attempt: UInt32
    package let handling: Handling
    /// The party that the event was for.
    package let receiver: Party
    /// Whether the event was large enough to be placed.
    package let isLarge: Bool

    package init(
        incarnation: UInt64,
        number: UInt64,
        stream: UInt8,
        attempt: UInt32,
        handling: Handling,
        receiver: Party,
        isLarge: Bool = false
    ) {
        self.incarnation = incarnation
        self.number = number
        self.stream = stream
        self.attempt = attempt
        self.handling = handling
        self.receiver = receiver
        self.isLarge = isLarge
    }

    fileprivate init(_ incarnation: UInt64, _ number: UInt64, packed: UInt64, _ handling: UInt64) {
        self.init(
            incarnation: incarnation,
            number: number,
            stream: UInt8(truncatingIfNeeded: packed),
            attempt: UInt32(truncatingIfNeeded: packed >> 8),
            handling: Handling(rawValue: handling) ?? .damaged,
            receiver: Party(rawValue: UInt8(truncatingIfNeeded: packed >> 40)) ?? .host,
            isLarge: packed >> 48 & 1 == 1
        )
    }

    fileprivate var packed: UInt64 {
        UInt64(stream) | UInt64(attempt) << 8 | UInt64(receiver.rawValue) << 40 | (isLarge ? 1 << 48 : 0)
    }
}

/// A piece, of fixed size, of the ledger that one life of a party writes; the checker deletes each piece that it has
/// checked.
package struct HandledSegment: Sendable {
    private enum Word {
        static let count = 0
        static let process = 1
        static let records = 8
        static let perRecord = 4
    }

    package static let capacity = 32_768
    private static let byteCount = (Word.records + Word.perRecord * capacity) * 8
    private let words: SharedWords

    package static func create(at path: String) throws -> HandledSegment {
        let mapping = try MemoryFile.create(at: path, byteCount: byteCount) { mapping in
            SharedWords(mapping)?[Word.process] = UInt64(clamping: CurrentProcess.identifier)
        }
        return try HandledSegment(mapping)
    }

    package init(at path: String) throws {
        try self.init(MemoryFile.map(at: path))
    }

    private init(_ mapping: MemoryMapping) throws {
        guard let words = SharedWords(mapping), words.count * 8 >= Self.byteCount else {
            throw LedgerError("a ledger of handlings has \(mapping.bytes.count) bytes, expected \(Self.byteCount)")
        }
        self.words = words
    }

    package var count: Int { min(Int(clamping: words[Word.count]), Self.capacity) }

    /// The process that writes the segment.
    package var process: Int32 { Int32(truncatingIfNeeded: words[Word.process]) }

    /// Adds a record, which counts only once it is whole; one caller at a time, and only below the capacity.
    package func append(_ record: HandledRecord) -> Int {
        let index = count
        let first = Word.records + Word.perRecord * index
        words[first] = record.incarnation
        words[first + 1] = record.number
        words[first + 2] = record.packed
        words[first + 3] = record.handling.rawValue
        words[Word.count] = UInt64(index + 1)
        return index
    }

    package func finish(_ index: Int, _ handling: Handling) {
        words[Word.records + Word.perRecord * index + 3] = handling.rawValue
    }

    /// The record with this index, which is below ``count``.
    package func record(_ index: Int) -> HandledRecord {
        let first = Word.records + Word.perRecord * index
        return HandledRecord(words[first], words[first + 1], packed: words[first + 2], words[first + 3])
    }
}
