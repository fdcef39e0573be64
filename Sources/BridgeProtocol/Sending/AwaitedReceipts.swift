import DomainEvents

/// The events that went to the peer with the wish for a receipt, and whose receipts have not come.
///
/// A host takes a receipt of a worker only for such an event, and only once: a worker cannot end the waits for events
/// that it never got, and cannot fill the links of the processes that published them.
///
/// An acknowledgement may come before the receipt, and after a refusal the receipt may never come. So this table keeps
/// settled events: at least those among the last ``settled`` events of the link, and at most twice as many.
struct AwaitedReceipts {
    /// How many settled events stay at least: as many as fit into a window of the default size.
    private static let settled: UInt64 = 4_096

    /// The link sequence of each event.
    private var sequences: [EventID: UInt64] = [:]

    /// An event was put into the outbox.
    ///
    /// - Parameters:
    ///   - sequence: the event's link sequence, the newest in the outbox.
    ///   - oldest: the first sequence that the outbox still keeps.
    mutating func expect(_ id: EventID, sequence: UInt64, oldest: UInt64) {
        sequences[id] = sequence
        let kept = sequence - oldest + 1
        guard UInt64(sequences.count) > kept + 2 * Self.settled else { return }
        // Each search takes out more than `settled` events, so searches are few.
        sequences = sequences.filter { $0.value + Self.settled >= oldest }
    }

    /// The peer has sent a receipt; returns whether it counts.
    mutating func receiptCame(of id: EventID) -> Bool { sequences.removeValue(forKey: id) != nil }
}
