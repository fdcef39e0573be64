import DomainEvents

/// The events that a receiver has settled and that a journal has not heard of, oldest first.
///
/// The journal hears of an event once everything is recorded that the event's handlers have published. An
/// acknowledgement may count before that: what they have published then lies in memory that outlives the receiver, but
/// is lost if host and receiver are killed together.
package struct UntoldEvents: Sendable {
    /// Events that were settled by acknowledgements which name the same event of the receiver.
    private struct Batch {
        let after: UntrustedNumber
        var events: [EventID]
    }

    /// How many events wait at most, so that a peer that names an event which never comes fills no memory; the journal
    /// never hears of further events, which stay owed.
    package static let most = 1 << 20

    private var batches: [Batch] = []
    /// The place of the first batch: those before it were taken out, and are removed now and then, not one by one.
    private var first = 0
    /// How many events wait.
    private var count = 0
    /// Whether a journal has to hear of an event of this outbox or of an outbox before it, or one of these outboxes has
    /// had an event that became a dead letter, or that was refused and may still become one.
    ///
    /// The peer is then not told that an event does not come again: after a kill or a power cut, the journal may not
    /// know that the event was settled, and a dead letter may be sent again at any time.
    package var isUsed: Bool { isUsedForGood || undecided > 0 }
    private var isUsedForGood = false
    /// How many events were refused of which it is undecided whether they become dead letters.
    private var undecided = 0

    package var isEmpty: Bool { first == batches.count }

    /// An event is settled.
    ///
    /// - Parameter after: the event of the receiver that has to be recorded first; 0 for none.
    mutating func append(_ event: EventID, after: UntrustedNumber) {
        guard count < Self.most else { return }
        count += 1
        if first < batches.count, batches[batches.count - 1].after == after {
            batches[batches.count - 1].events.append(event)
        } else {
            batches.append(Batch(after: after, events: [event]))
        }
    }

    /// A journal has to hear of an event that comes, or an event has become a dead letter.
    mutating func use() { isUsedForGood = true }

    /// An event is refused, and may become a dead letter until ``refusalIsDecided()``.
    mutating func refusalIsHeld() { undecided += 1 }

    /// It is decided what becomes of a refused event; if an outbox before this one has held it, nothing changes.
    mutating func refusalIsDecided() { undecided = max(0, undecided - 1) }

    /// Takes out the events that the journal may hear of, now that it has the receiver's events up to `sequence`.
    ///
    /// An event whose turn has not come keeps back those behind it. An acknowledged event behind it has no earlier
    /// turn, as the receiver's events arrive in their order; a refused event waits longer than it has to.
    mutating func take(recordedThrough sequence: UInt64) -> [EventID] {
        var events: [EventID] = []
        while first < batches.count, batches[first].after <= sequence {
            events += batches[first].events
            batches[first].events = []
            first += 1
        }
        if first == batches.count || first >= 256 {
            batches.removeFirst(first)
            first = 0
        }
        count -= events.count
        return events
    }
}
