import DomainEvents

/// The events that a receiver has settled and of which a journal has not heard, oldest first.
///
/// The journal hears of an event when all is recorded that the receiver's handlers have published for it. An
/// acknowledgement may count before that: what they have published then lies in memory that outlives the receiver, but
/// that memory does not outlive a host and a receiver that are killed together.
package struct UntoldEvents: Sendable {
    /// Events that were settled by acknowledgements which name the same event of the receiver.
    private struct Batch {
        let after: UntrustedNumber
        var events: [EventID]
    }

    /// How many events wait at most for what they have caused; those beyond it are never told of, and so stay owed: a
    /// peer that names an event which never comes fills no memory.
    package static let most = 1 << 20

    private var batches: [Batch] = []
    /// Where the batches begin: those before it are taken out, and are removed now and then, not one by one.
    private var first = 0
    /// How many events wait.
    private var count = 0
    /// Whether a journal has to hear of any event of the outbox, or had to of one before it.
    ///
    /// The peer is then never told that an event does not come again: after a kill or a power cut, the journal may not
    /// know that the event was settled.
    package private(set) var isUsed = false

    package var isEmpty: Bool { first == batches.count }

    /// An event is settled.
    ///
    /// - Parameter after: the event of the receiver that has to be recorded before; 0 for none.
    mutating func append(_ event: EventID, after: UntrustedNumber) {
        guard count < Self.most else { return }
        count += 1
        if first < batches.count, batches[batches.count - 1].after == after {
            batches[batches.count - 1].events.append(event)
        } else {
            batches.append(Batch(after: after, events: [event]))
        }
    }

    /// A journal has to hear of an event that comes.
    mutating func use() { isUsed = true }

    /// Takes out the events of which the journal may hear, now that the receiver's up to `sequence` are recorded.
    ///
    /// An event whose turn has not come keeps those behind it. An acknowledged event behind it has no earlier turn, as
    /// the receiver's events arrive in their order; a refused event waits longer than it has to.
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
