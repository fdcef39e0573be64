package import DomainEvents

/// A journal's event that lies in the outbox again, and that an operator has to hear of.
struct SentReplay: Sendable, Hashable {
    let sequence: UInt64
    let id: EventID
}

extension SendState {
    /// Takes out the events of a replay that the peer has settled by acknowledging them, with a receipt or without one.
    ///
    /// Refused events are not among them: the refusal itself is told.
    package mutating func takeSettledReplays() -> [EventID] {
        if replays.isEmpty { return [] }
        var (kept, settled): ([SentReplay], [EventID]) = ([], [])
        for replay in replays {
            if outbox.isUnsettled(replay.sequence) {
                kept.append(replay)
            } else {
                settled.append(replay.id)
            }
        }
        replays = kept
        return settled
    }
}
