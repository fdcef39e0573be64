import BridgePlatform

/// What one life of a party has offered and what it knows to be accepted, for each of its streams.
///
/// A stream's events are numbered without gaps and offered one after the other, so two numbers say everything.
/// "Offered" is stored before the call, "accepted" when the call has returned. Each stream has one writer. An event
/// whose caller waited (`deliver`, `request`) and met an error is in a list, with what the caller knows about it.
package struct SentLedger: Sendable {
    private enum Word {
        static let party = 0
        static let ordinal = 1
        static let incarnation = 2
        static let exceptions = 3
        static let process = 4
        static let streams = 8
        static let list = 128
    }

    private static let byteCount = 131_072
    /// Marks the listed events whose caller got a refusal; the callers of the others do not know what became of them.
    private static let toldBit: UInt64 = 1 << 63

    private let words: SharedWords

    /// Begins the ledger of this process.
    package init(in folder: String, party: Party, ordinal: UInt64, incarnation: UInt64) throws {
        let path = folder + "/" + LedgerName.sent(party, ordinal)
        let mapping = try MemoryFile.create(at: path, byteCount: Self.byteCount) { mapping in
            guard let words = SharedWords(mapping) else { return }
            words[Word.party] = UInt64(party.rawValue)
            words[Word.ordinal] = ordinal
            words[Word.incarnation] = incarnation
            words[Word.process] = UInt64(clamping: CurrentProcess.identifier)
        }
        try self.init(mapping)
    }

    /// Reads the ledger of another process.
    package init(at path: String) throws {
        try self.init(MemoryFile.map(at: path))
    }

    private init(_ mapping: MemoryMapping) throws {
        guard let words = SharedWords(mapping), words.count * 8 >= Self.byteCount,
            Word.streams + 2 * ChaosStream.allCases.count <= Word.list
        else {
            throw LedgerError("a ledger of what was sent has \(mapping.bytes.count) bytes")
        }
        self.words = words
    }

    package var incarnation: UInt64 { words[Word.incarnation] }

    /// The process that writes the ledger.
    package var process: Int32 { Int32(truncatingIfNeeded: words[Word.process]) }

    package func offered(_ stream: ChaosStream) -> UInt64 { words[offeredWord(stream)] }

    package func accepted(_ stream: ChaosStream) -> UInt64 { words[offeredWord(stream) + 1] }

    package func setOffered(_ number: UInt64, _ stream: ChaosStream) { words[offeredWord(stream)] = number }

    package func setAccepted(_ number: UInt64, _ stream: ChaosStream) { words[offeredWord(stream) + 1] = number }

    /// Notes that the caller was told that the event was refused.
    package func addTold(_ number: UInt64, _ stream: ChaosStream) { add(number | Self.toldBit, stream) }

    /// Notes that the caller was not told what became of the event.
    package func addDoubtful(_ number: UInt64, _ stream: ChaosStream) { add(number, stream) }

    /// Whether the list has room for all events that a process can wait for at once.
    package var hasRoom: Bool { Word.list + Int(clamping: words[Word.exceptions]) + 64 < words.count }

    private func add(_ number: UInt64, _ stream: ChaosStream) {
        let index = Word.list + Int(clamping: words.add(1, at: Word.exceptions)) - 1
        guard index < words.count else { return }
        words[index] = number | UInt64(stream.rawValue) << 48
    }

    /// The entries of the list about a stream.
    package func exceptions(_ stream: ChaosStream) -> (told: Set<UInt64>, doubtful: Set<UInt64>) {
        var told: Set<UInt64> = []
        var doubtful: Set<UInt64> = []
        let end = min(Word.list + Int(clamping: words[Word.exceptions]), words.count)
        for index in Word.list..<max(end, Word.list) {
            let entry = words[index]
            guard UInt8(truncatingIfNeeded: entry >> 48 & 0x7F) == stream.rawValue, entry != 0 else { continue }
            let number = entry & 0xFFFF_FFFF_FFFF
            if entry & Self.toldBit != 0 { told.insert(number) } else { doubtful.insert(number) }
        }
        return (told, doubtful)
    }

    private func offeredWord(_ stream: ChaosStream) -> Int { Word.streams + 2 * Int(stream.rawValue) }
}
