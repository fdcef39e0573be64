import DomainEvents

/// The events to a peer that acknowledges nothing: they count as settled once they are written, or once the link ends
/// while they are being written, and come at most once.
package struct UnconfirmedEvents: Sendable, Hashable {
    /// Whether the peer has said in its handshake that it acknowledges nothing; if not, no event is unconfirmed.
    package internal(set) var isEverything = false
    /// How many events were written.
    package internal(set) var count: UInt64 = 0
    /// The written events whose publishers still wait to hear of them.
    var awaited: [EventID] = []
}
