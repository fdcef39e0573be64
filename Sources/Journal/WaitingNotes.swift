import DomainEvents
import JournalFormat

/// The notes of a journal that wait for its next segment, in their order.
///
/// A pure value. Notes of settled events are put together, so that they take little room, and even on a full disk
/// seldom become more than ``most``.
struct WaitingNotes: Sendable {
    /// In which order the notes came; a note of settled events may also have what came after it.
    private(set) var notes: [CustodyNote] = []
    /// Where the last note of settled events of a source and receiver lies, if no note of another kind came after it.
    private var open: [Key: Int] = [:]

    /// Whether the oldest note found no room in the present segment.
    var needSegment = false

    /// How many notes wait at most; beyond that a quarter is lost: the oldest strikes, and then the oldest others.
    ///
    /// A lost strike lets an event be tried once more. Without the note that a letter is gone, a handled event might
    /// stay a dead letter for ever.
    static let most = 4_096

    private struct Key: Hashable {
        let source: EventSource
        let receiver: NotedReceiver
    }

    var isEmpty: Bool { notes.isEmpty }

    mutating func add(_ note: CustodyNote) {
        guard case .settled(let source, let ranges, let receiver) = note else {
            // Settled events may not come before what else was noted of them.
            open = [:]
            return append(note)
        }
        let key = Key(source: source, receiver: receiver)
        if let index = open[key], case .settled(_, let earlier, _) = notes[index] {
            let all = CustodyNote.joined(earlier + ranges)
            if all.count <= CustodyNote.mostRanges {
                notes[index] = .settled(source: source, ranges: all, by: receiver)
                return
            }
        }
        open[key] = notes.count
        append(note)
    }

    private mutating func append(_ note: CustodyNote) {
        notes.append(note)
        guard notes.count > Self.most else { return }
        var excess = Self.most / 4
        notes.removeAll { note in
            guard excess > 0, case .strike = note else { return false }
            excess -= 1
            return true
        }
        notes.removeFirst(excess)
        open = [:]
    }

    /// Removes the oldest notes, which were written.
    mutating func removeFirst(_ count: Int) {
        guard count > 0 else { return }
        notes.removeFirst(count)
        open = [:]
        needSegment = false
    }
}
