/// Whether this side lets events leave, and up to which; the peer's window limits them as well.
///
/// No event leaves before the peer has said what it wants, or once the peer is to get no more. No event leaves while
/// the store of dead letters is full. An event that goes to several peers, or that a journal records, is held until all
/// outboxes of these peers and the journal have it; it holds the events behind it, too.
package struct SendingGate: Sendable, Hashable {
    /// Whether the peer has said what it wants.
    package private(set) var isReleased = false
    /// Whether nothing leaves for now.
    package private(set) var isPaused = false
    /// Whether nothing leaves any more; false again if the peer stays after all.
    private var isKept = false
    /// Events that stay until they are released, ascending.
    private var held: [UInt64] = []

    package init() {}

    /// The peer has said what it wants.
    package mutating func peerIsReady() { isReleased = true }

    /// The store of dead letters is full, or has room again.
    package mutating func setPaused(_ isPaused: Bool) { self.isPaused = isPaused }

    /// Nothing leaves any more: the peer finishes what it has.
    package mutating func keep() { isKept = true }

    /// The peer stays: events leave again.
    package mutating func letLeave() { isKept = false }

    /// An event stays until ``release(_:)``; `sequence` is larger than the sequences that are held.
    package mutating func hold(_ sequence: UInt64) { held.append(sequence) }

    /// Holds events that were held in the queue before they moved to another link.
    package mutating func hold(contentsOf sequences: [UInt64]) { held += sequences }

    /// The event is no longer held: all outboxes that it goes to, and the journal, have it.
    package mutating func release(_ sequence: UInt64) {
        // Nearly always no other event is held.
        if held.last == sequence { held.removeLast() } else { held.removeAll { $0 == sequence } }
    }

    /// Whether any event may leave.
    package var isOpen: Bool { isReleased && !isPaused && !isKept }

    /// Whether events may stay in the outbox for any length of time.
    package var holdsBack: Bool { isPaused || isKept }

    package var isHolding: Bool { !held.isEmpty }

    /// The newest event before all held events; the largest number if none is held.
    package var last: UInt64 { held.first.map { $0 - 1 } ?? .max }
}
