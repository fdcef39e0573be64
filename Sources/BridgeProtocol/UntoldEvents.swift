package import DomainEvents

/// The events that a receiver has settled and of which a journal has not heard, oldest first.
package struct UntoldEvents: Sendable {
    private var events: [EventID] = []
    /// Whether a thread tells the journal.
    private var isTelling = false
    /// Whether a journal has to hear of any event of the outbox, or had to of one before it.
    ///
    /// The peer is then told of no event that it does not come again: after a kill or a power cut, the journal may not
    /// know that the event was settled.
    package private(set) var isUsed = false

    package var isEmpty: Bool { events.isEmpty }

    mutating func append(_ event: EventID) { events.append(event) }

    /// An event came of which a journal has to hear.
    mutating func use() { isUsed = true }

    /// The events to tell; nil if there are none, or another thread is telling them.
    ///
    /// After telling the journal, the caller calls ``wereTold(_:)``, and then this once more.
    package mutating func tell() -> [EventID]? {
        guard !events.isEmpty, !isTelling else { return nil }
        isTelling = true
        return events
    }

    /// The journal knows of so many of the oldest events.
    package mutating func wereTold(_ count: Int) {
        events.removeFirst(count)
        isTelling = false
    }
}
