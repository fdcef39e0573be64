import DomainEvents

/// Events for a peer that acknowledges nothing, which count as settled once they are written: at most once.
package struct UnconfirmedEvents: Sendable, Hashable {
    /// Whether the peer acknowledges nothing, as it has said in its handshake.
    package internal(set) var isEverything = false
    /// How many were written.
    package internal(set) var count: UInt64 = 0
    /// Of these, the events that something waits to hear of and has not been told of.
    var awaited: [EventID] = []
}
