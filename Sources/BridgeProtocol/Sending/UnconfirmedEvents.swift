import DomainEvents

/// Events for a peer that acknowledges nothing: they count as settled once they are written, and come at most once.
package struct UnconfirmedEvents: Sendable, Hashable {
    /// Whether the peer acknowledges nothing, as it has said in its handshake.
    package internal(set) var isEverything = false
    /// How many were written.
    package internal(set) var count: UInt64 = 0
    /// Of these, the events that something waits to hear of and was not told of yet.
    var awaited: [EventID] = []
}
