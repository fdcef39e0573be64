import BridgePlatform

/// The shared page through which the driver steers all processes; the checker takes no evidence from it.
package struct Board: Sendable {
    /// Where a run is.
    package enum Phase: UInt64, Sendable {
        case publishing
        /// No process publishes of its own accord for a while.
        case paused
        /// No process publishes any more.
        case stopped
        /// All processes have ended: the ledgers are complete.
        case over
    }

    private enum Word {
        static let phase = 0
        static let ordinals = 1
        static let ends = 2
        static let share = 3
        static let rests = 4
        static let attachments = 5
        static let progress = 8
    }

    private static let byteCount = 4_096
    /// How many shares each stream may be ahead of the witness: so many that on a fast machine workers reach their own
    /// limits first.
    private static let sharesOfWitness: UInt64 = 16
    private let words: SharedWords

    /// Makes the page of a run in its folder.
    package static func make(in folder: String) throws -> Board {
        try Board(words: SharedWords.make(at: path(in: folder), byteCount: byteCount))
    }

    package init(in folder: String) throws {
        words = try SharedWords(at: Self.path(in: folder), byteCount: Self.byteCount)
    }

    private init(words: SharedWords) {
        self.words = words
    }

    private static func path(in folder: String) -> String { folder + "/board" }

    package var phase: Phase {
        get { Phase(rawValue: words[Word.phase]) ?? .over }
        nonmutating set { words[Word.phase] = newValue.rawValue }
    }

    /// Whether a process publishes, or will again.
    package var isLive: Bool { phase == .publishing || phase == .paused }

    /// How many ends the workers have met.
    package var ends: Int {
        get { Int(clamping: words[Word.ends]) }
        nonmutating set { words[Word.ends] = UInt64(clamping: newValue) }
    }

    /// Whether no process may give the worker on demand anything to do, so that the worker ends.
    package var restsOnDemand: Bool {
        get { words[Word.rests] != 0 }
        nonmutating set { words[Word.rests] = newValue ? 1 : 0 }
    }

    /// How often the client has attached.
    package var attachments: Int { Int(clamping: words[Word.attachments]) }

    /// Called by the client.
    package func addAttachment() { _ = words.add(1, at: Word.attachments) }

    /// How many events of one worker may be on their way to another.
    package var share: UInt64 {
        get { words[Word.share] }
        nonmutating set { words[Word.share] = newValue }
    }

    /// A number for a process that starts: the later of two lives of a party has the higher number.
    package func takeOrdinal() -> UInt64 { words.add(1, at: Word.ordinals) }

    /// How far the stream's pacer has come with the events of this life of the sender.
    ///
    /// A worker that publishes without waiting for room would fill its outbox up to the hard limit; only this count
    /// tells it to hold back.
    package func progress(of stream: ChaosStream, from incarnation: UInt64) -> UInt64 {
        let word = progressWord(stream)
        return words[word] == incarnation ? words[word + 1] : 0
    }

    /// Called by the pacer.
    package func setProgress(_ number: UInt64, of stream: ChaosStream, from incarnation: UInt64) {
        let word = progressWord(stream)
        // Between these two stores a sender may see too low a number, or, until the pacer's next event, too high a one.
        words[word + 1] = number
        words[word] = incarnation
    }

    /// Whether the sender of a stream, whose newest number is `number`, has to rest: further events would only pile up.
    package func isAhead(_ number: UInt64, of stream: ChaosStream, from incarnation: UInt64) -> Bool {
        let shares = stream.pacer == .witness ? Self.sharesOfWitness : 1
        return number > progress(of: stream, from: incarnation) &+ share &* shares
    }

    private func progressWord(_ stream: ChaosStream) -> Int { Word.progress + 2 * Int(stream.rawValue) }
}

/// A file of a run is not as it should be.
package struct LedgerError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
