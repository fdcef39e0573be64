import DomainEvents

/// The events that a receiver has settled and that a journal has not heard of, oldest first.
///
/// The journal hears of an event once everything that the event's handlers have published is recorded. An
/// acknowledgement may count before that: what the handlers have published then lies in memory that outlives the
/// receiver, but is lost if host and receiver are killed together.
package struct UntoldEvents: Sendable {
    /// Events of one source that were settled one after the other, and whose numbers follow one another.
    private struct Run {
        /// The event of the receiver that has to be recorded first; 0 for none.
        let after: UntrustedNumber
        let source: EventSource
        var numbers: ClosedRange<UInt64>
    }

    /// How many events wait at most; the journal never hears of further events, which stay owed.
    ///
    /// The limit is for a peer whose acknowledgements name an event that never comes: it must not fill the memory.
    package static let most = 1 << 20
    /// How many taken-out runs may stay in the array; with more, an array that becomes empty gives its memory back.
    private static let fewRuns = 256

    private var runs: [Run] = []
    /// The place of the first run: those before it were taken out, and are removed now and then, not one by one.
    private var first = 0
    /// How many events wait.
    private var count = 0
    /// Whether a settled event of this outbox, or of an outbox before it, may come again.
    ///
    /// A journal that has to hear of an event may not know, after a kill or a power cut, that the event was settled. A
    /// dead letter may be sent again at any time, and a refused event may still become one. While this is true, the
    /// peer is never told which events it may forget.
    package var isUsed: Bool { isUsedForGood || undecided > 0 }
    private var isUsedForGood = false
    /// How many refused events may still become dead letters.
    private var undecided = 0

    package var isEmpty: Bool { first == runs.count }

    /// An event is settled.
    ///
    /// - Parameter after: the event of the receiver that has to be recorded first; 0 for none.
    mutating func append(_ event: EventID, after: UntrustedNumber) {
        guard count < Self.most else { return }
        count += 1
        let last = runs.count - 1
        if first <= last, runs[last].after == after, runs[last].source == event.source,
            runs[last].numbers.upperBound < event.number, event.number - runs[last].numbers.upperBound == 1
        {
            runs[last].numbers = runs[last].numbers.lowerBound...event.number
        } else {
            runs.append(Run(after: after, source: event.source, numbers: event.number...event.number))
        }
    }

    /// A journal has to hear of an event that comes, or an event has become a dead letter.
    mutating func use() { isUsedForGood = true }

    /// An event is refused, and may become a dead letter until ``refusalIsDecided()``.
    mutating func refusalIsHeld() { undecided += 1 }

    /// It is decided what becomes of a refused event; nothing changes if the refusal came to an earlier outbox.
    mutating func refusalIsDecided() { undecided = max(0, undecided - 1) }

    /// Takes out events that the journal may hear of, now that it has the receiver's events up to `sequence`: those of
    /// one source, as many as one note has room for.
    ///
    /// An event whose `after` is not recorded yet keeps back those behind it. An acknowledged event behind it loses
    /// nothing: the receiver's events arrive in order, so that event's own `after` is recorded no earlier. A refused
    /// event behind it waits longer than it has to.
    ///
    /// - Parameter numbers: gets the numbers of the events in ascending order, in place of what it has.
    /// - Returns: The source of the events; nil if the journal may hear of no further event.
    mutating func take(
        recordedThrough sequence: UInt64,
        into numbers: inout [ClosedRange<UInt64>]
    ) -> EventSource? {
        if !numbers.isEmpty { numbers.removeAll(keepingCapacity: true) }
        guard first < runs.count, runs[first].after <= sequence else { return nil }
        let source = runs[first].source
        var place = first
        var isInOrder = true
        var hasOthers = false
        while place < runs.count, runs[place].after <= sequence, numbers.count < CustodyNote.mostRanges {
            if runs[place].source == source {
                let run = runs[place].numbers
                count -= run.count
                if let last = numbers.last, last.upperBound < run.lowerBound, run.lowerBound - last.upperBound == 1 {
                    numbers[numbers.count - 1] = last.lowerBound...run.upperBound
                } else {
                    if let last = numbers.last, run.lowerBound <= last.upperBound { isInOrder = false }
                    numbers.append(run)
                }
            } else {
                hasOthers = true
            }
            place += 1
        }
        if !isInOrder { numbers = CustodyNote.joined(numbers) }
        var stays = place
        if hasOthers {
            // The runs of other sources move up to the runs behind; those stay in place, because they may be a million.
            for index in (first..<place).reversed() where runs[index].source != source {
                stays -= 1
                runs.swapAt(stays, index)
            }
        }
        first = stays
        if first == runs.count {
            runs.removeAll(keepingCapacity: first <= Self.fewRuns)
            first = 0
        } else if first >= Self.fewRuns {
            runs.removeFirst(first)
            first = 0
        }
        return source
    }
}
