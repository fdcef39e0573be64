import BridgePlatform

/// What the bridge announced during a run: dropped events, dead processes, and the events left at the end.
///
/// The driver writes this file, and the checker reads it at the end.
package struct Announcements: Sendable {
    private enum Word {
        static let deaths = 0
        static let dropped = 8
        static let coalesced = dropped + ChaosKind.allCases.count * Party.allCases.count
        static let left = coalesced + Party.allCases.count
        static let list = left + Party.allCases.count
    }

    private static let byteCount = 1 << 20
    private let words: SharedWords

    /// Makes the file of a run in its folder.
    package static func make(in folder: String) throws -> Announcements {
        try Announcements(words: SharedWords.make(at: path(in: folder), byteCount: byteCount))
    }

    package init(in folder: String) throws {
        words = try SharedWords(at: Self.path(in: folder), byteCount: Self.byteCount)
    }

    private init(words: SharedWords) {
        self.words = words
    }

    private static func path(in folder: String) -> String { folder + "/announced" }

    /// Notes that events of a kind were dropped on their way to a party.
    package func addDropped(_ count: Int, _ kind: ChaosKind, to party: Party) {
        _ = words.add(UInt64(clamping: count), at: droppedWord(kind, party))
    }

    package func dropped(_ kind: ChaosKind, to party: Party) -> Int { Int(clamping: words[droppedWord(kind, party)]) }

    /// Sets how many events on their way to a party were replaced by later ones.
    package func setCoalesced(_ count: UInt64, to party: Party) { words[Word.coalesced + Int(party.rawValue)] = count }

    package func coalesced(to party: Party) -> Int { Int(clamping: words[Word.coalesced + Int(party.rawValue)]) }

    /// Notes that events were left for a party when the bridge was shut down.
    package func addLeft(_ count: Int, to party: Party) {
        _ = words.add(UInt64(clamping: count), at: Word.left + Int(party.rawValue))
    }

    package func left(to party: Party) -> Int { Int(clamping: words[Word.left + Int(party.rawValue)]) }

    /// Notes that a process of a party has died, so the events that it had begun may be handled again.
    package func addDeath(of process: Int32, _ party: Party) {
        let index = Word.list + Int(clamping: words.add(1, at: Word.deaths)) - 1
        guard index < words.count else { return }
        words[index] = UInt64(UInt32(bitPattern: process)) | UInt64(party.rawValue) << 32
    }

    package var deaths: [(process: Int32, party: Party)] {
        let end = min(Word.list + Int(clamping: words[Word.deaths]), words.count)
        return (Word.list..<end).compactMap { index in
            let word = words[index]
            return Party(rawValue: UInt8(truncatingIfNeeded: word >> 32)).map {
                (Int32(bitPattern: UInt32(truncatingIfNeeded: word)), $0)
            }
        }
    }

    private func droppedWord(_ kind: ChaosKind, _ party: Party) -> Int {
        Word.dropped + Int(kind.rawValue) * Party.allCases.count + Int(party.rawValue)
    }
}
