import BridgePlatform

/// The page through which the driver steers everybody; nothing on it proves anything.
package struct Board: Sendable {
    /// Where a run is.
    package enum Phase: UInt64, Sendable {
        case publishing
        /// Nobody publishes of its own accord for a while.
        case paused
        /// Nobody publishes any more.
        case stopped
        /// All processes have ended: what the ledgers say now is all there is.
        case over
    }

    private enum Word {
        static let phase = 0
        static let ordinals = 1
        static let kills = 2
        static let share = 3
        static let progress = 8
    }

    private static let byteCount = 4_096
    private let words: SharedWords

    /// Makes the page of a run in its folder.
    package static func make(in folder: String) throws -> Board {
        try Board(MemoryFile.create(at: path(in: folder), byteCount: byteCount) { _ in })
    }

    package init(in folder: String) throws {
        try self.init(MemoryFile.map(at: Self.path(in: folder)))
    }

    private init(_ mapping: MemoryMapping) throws {
        guard let words = SharedWords(mapping), words.count * 8 >= Self.byteCount else {
            throw LedgerError("the board has \(mapping.bytes.count) bytes, expected \(Self.byteCount)")
        }
        self.words = words
    }

    private static func path(in folder: String) -> String { folder + "/board" }

    package var phase: Phase {
        get { Phase(rawValue: words[Word.phase]) ?? .over }
        nonmutating set { words[Word.phase] = newValue.rawValue }
    }

    /// How many workers were killed.
    package var kills: Int {
        get { Int(clamping: words[Word.kills]) }
        nonmutating set { words[Word.kills] = UInt64(clamping: newValue) }
    }

    /// How many events of one worker may be on their way to another.
    package var share: UInt64 {
        get { words[Word.share] }
        nonmutating set { words[Word.share] = newValue }
    }

    /// A number for a process that starts: of two lives of one party the later has the higher.
    package func takeOrdinal() -> UInt64 { words.add(1, at: Word.ordinals) }

    /// How far the receiver of a stream has come with this life of its sender.
    ///
    /// What a worker sends to another waits in the host without limit but the hard one: only this tells it to hold back.
    package func progress(of stream: ChaosStream, from incarnation: UInt64) -> UInt64 {
        let word = progressWord(stream)
        return words[word] == incarnation ? words[word + 1] : 0
    }

    /// Called by the receiver.
    package func setProgress(_ number: UInt64, of stream: ChaosStream, from incarnation: UInt64) {
        let word = progressWord(stream)
        // In this order a sender sees too little for a moment, or too much until the next event.
        words[word + 1] = number
        words[word] = incarnation
    }

    private func progressWord(_ stream: ChaosStream) -> Int { Word.progress + 2 * Int(stream.rawValue) }
}

/// A file of a run that is not what it should be.
package struct LedgerError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
