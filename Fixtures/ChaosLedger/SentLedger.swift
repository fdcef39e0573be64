import BridgePlatform

/// What one life of a party has offered and what it knows to be accepted, for each of its streams.
///
/// A stream's events are numbered without gaps and offered one after the other, so that two numbers say it all. "Offered" is
/// stored before the call, "accepted" when it has returned. One writer for each stream.
package struct SentLedger: Sendable {
    private enum Word {
        static let party = 0
        static let ordinal = 1
        static let incarnation = 2
        static let streams = 8
    }

    private let words: SharedWords

    /// Begins the ledger of this process.
    package init(in folder: String, party: Party, ordinal: UInt64, incarnation: UInt64) throws {
        let path = folder + "/" + LedgerName.sent(party, ordinal)
        let mapping = try MemoryFile.create(at: path, byteCount: 4_096) { mapping in
            guard let words = SharedWords(mapping) else { return }
            words[Word.party] = UInt64(party.rawValue)
            words[Word.ordinal] = ordinal
            words[Word.incarnation] = incarnation
        }
        try self.init(mapping)
    }

    /// Reads the ledger of another process.
    package init(at path: String) throws {
        try self.init(MemoryFile.map(at: path))
    }

    private init(_ mapping: MemoryMapping) throws {
        guard let words = SharedWords(mapping), words.count >= Word.streams + 2 * ChaosStream.allCases.count else {
            throw LedgerError("a ledger of what was sent has \(mapping.bytes.count) bytes")
        }
        self.words = words
    }

    package var incarnation: UInt64 { words[Word.incarnation] }

    package func offered(_ stream: ChaosStream) -> UInt64 { words[offeredWord(stream)] }

    package func accepted(_ stream: ChaosStream) -> UInt64 { words[offeredWord(stream) + 1] }

    package func setOffered(_ number: UInt64, _ stream: ChaosStream) { words[offeredWord(stream)] = number }

    package func setAccepted(_ number: UInt64, _ stream: ChaosStream) { words[offeredWord(stream) + 1] = number }

    private func offeredWord(_ stream: ChaosStream) -> Int { Word.streams + 2 * Int(stream.rawValue) }
}
