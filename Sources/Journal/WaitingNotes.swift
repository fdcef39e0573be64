import DomainEvents
import JournalFormat

/// The notes of a journal that wait for its next segment or for room, in their order.
///
/// This is a pure value. Notes of settled events are merged, so they take little memory, and even on a full disk they
/// seldom reach ``most``.
struct WaitingNotes: Sendable {
    /// The notes in the order in which they came; later notes of settled events may be merged into an earlier one.
    private(set) var notes: [CustodyNote] = []
    /// The index of the last note of settled events by source and receiver; none if another kind of note came after it.
    private var open: [Key: Int] = [:]

    /// Whether the oldest note found no room in the present segment.
    var needSegment = false

    /// How many notes wait at most; beyond that a quarter is lost: the oldest strikes, and then the oldest others.
    ///
    /// Strikes go first: without a strike, the event is only tried once more. Without the note that a letter is gone, a
    /// handled event might stay a dead letter for ever.
    static let most = 4_096

    private struct Key: Hashable {
        let source: EventSource
        let receiver: NotedReceiver
    }

    var isEmpty: Bool { notes.isEmpty }

    mutating func add(_ note: CustodyNote) {
        guard case .settled(let source, let ranges, let receiver) = note else {
            // Later notes of settled events are not merged across this note, which may be about the same events.
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
