package import DomainEvents

/// The replays in the outbox: events of a journal that are sent again, and of which an operator has to hear.
struct SentReplays: Sendable {
    private var all: [(sequence: UInt64, id: EventID)] = []
    /// How many events of the outbox had been acknowledged when ``takeSettled(in:)`` last looked.
    private var acknowledged: UInt64 = 0

    mutating func append(_ id: EventID, as sequence: UInt64) { all.append((sequence, id)) }

    /// The event is refused; the operator hears of that in another way.
    mutating func remove(_ sequence: UInt64) {
        if !all.isEmpty { all.removeAll { $0.sequence == sequence } }
    }

    /// Takes out the events that the peer has acknowledged.
    ///
    /// Calls come far more often than acknowledgements, so this looks through all replays only if an acknowledgement
    /// has settled an event since the last call.
    mutating func takeSettled(in outbox: borrowing Outbox) -> [EventID] {
        if all.isEmpty || outbox.acknowledgedEvents == acknowledged { return [] }
        acknowledged = outbox.acknowledgedEvents
        var kept: [(sequence: UInt64, id: EventID)] = []
        var settled: [EventID] = []
        for replay in all {
            if outbox.isUnsettled(replay.sequence) { kept.append(replay) } else { settled.append(replay.id) }
        }
        all = kept
        return settled
    }
}

extension SendState {
    /// Takes out the events of a replay that the peer has settled by acknowledging them, with a receipt or without one.
    ///
    /// Refused events are not among them, because each refusal is reported by itself.
    package mutating func takeSettledReplays() -> [EventID] { replays.takeSettled(in: outbox) }
}
