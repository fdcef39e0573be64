import BridgePlatform

/// How the handling of an event went, so far.
package enum Handling: UInt64, Sendable {
    case begun = 1
    case returned
    /// The handler threw: the event is refused, and settled with that.
    case threw
    /// The payload was not what had been sent, or bore another identity.
    case damaged
    /// Given up: written by the host, for the party that will not get the event.
    case deadLettered
}

/// An event that was handed to a handler.
package struct HandledRecord: Sendable {
    package let incarnation: UInt64
    package let number: UInt64
    package let stream: UInt8
    package let attempt: UInt32
    package let handling: Handling

    package init(incarnation: UInt64, number: UInt64, stream: UInt8, attempt: UInt32, handling: Handling) {
        self.incarnation = incarnation
        self.number = number
        self.stream = stream
        self.attempt = attempt
        self.handling = handling
    }
}

/// A piece of fixed size of the ledger of what one life of a party has handled: it is deleted when it has been checked.
package struct HandledSegment: Sendable {
    private enum Word {
        static let count = 0
        static let records = 8
        static let perRecord = 4
    }

    package static let capacity = 32_768
    private static let byteCount = (Word.records + Word.perRecord * capacity) * 8
    private let words: SharedWords

    package static func create(at path: String) throws -> HandledSegment {
        try HandledSegment(MemoryFile.create(at: path, byteCount: byteCount) { _ in })
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

    /// Adds a record, which counts only once it is whole; one caller at a time, and only below the capacity.
    package func append(_ record: HandledRecord) -> Int {
        let index = count
        let first = Word.records + Word.perRecord * index
        words[first] = record.incarnation
        words[first + 1] = record.number
        words[first + 2] = UInt64(record.attempt) << 8 | UInt64(record.stream)
        words[first + 3] = record.handling.rawValue
        words[Word.count] = UInt64(index + 1)
        return index
    }

    package func finish(_ index: Int, _ handling: Handling) {
        words[Word.records + Word.perRecord * index + 3] = handling.rawValue
    }

    /// `index` is below ``count``.
    package func record(_ index: Int) -> HandledRecord {
        let first = Word.records + Word.perRecord * index
        let rest = words[first + 2]
        return HandledRecord(
            incarnation: words[first],
            number: words[first + 1],
            stream: UInt8(truncatingIfNeeded: rest),
            attempt: UInt32(truncatingIfNeeded: rest >> 8),
            handling: Handling(rawValue: words[first + 3]) ?? .damaged
        )
    }
}
