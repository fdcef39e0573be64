/// One event that all forwarders hold back until it lies in every outbox and every strand.
@usableFromInline
package struct HeldEvents {
    /// Whether a journal records the event and the receivers to which the event is owed.
    package let areRecorded: Bool
    private var events: [any HeldEvent] = []

    package init(areRecorded: Bool = false) {
        self.areRecorded = areRecorded
    }

    package mutating func append(_ event: any HeldEvent) { events.append(event) }

    /// Lets the event leave all outboxes.
    package mutating func release() {
        for index in events.indices { events[index].release() }
    }

    /// Writes the event; called once, after ``release()``.
    package func flush() {
        for event in events { event.flush() }
    }

    /// The receivers that the event is owed to; empty if no journal records the event.
    var owed: [OwedReceiver] { areRecorded ? events.flatMap { $0.owed } : [] }
}
