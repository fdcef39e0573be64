/// Whether events leave, and up to which, for a side's own reasons; the peer's window has its say beside them.
///
/// No event leaves before the peer has said what it wants, or once the peer is let go. None leaves while events that
/// could not be handled fill the dead letters' store. An event that goes to several peers is held until it lies in all
/// of their outboxes; it holds what lies behind it, too.
package struct SendingGate: Sendable, Hashable {
    /// Whether the peer has said what it wants.
    private var isReleased = false
    /// Whether nothing leaves for now.
    package private(set) var isPaused = false
    /// Whether nothing leaves any more.
    private var isKept = false
    /// Events that stay until they are released, ascending.
    private var held: [UInt64] = []

    package init() {}

    /// The peer has said what it wants.
    package mutating func peerIsReady() { isReleased = true }

    /// There is no room for what the peer may refuse, or there is again.
    package mutating func setPaused(_ isPaused: Bool) { self.isPaused = isPaused }

    /// The peer is to finish what it has: nothing leaves any more.
    package mutating func keep() { isKept = true }

    /// An event stays until ``release(_:)``.
    ///
    /// - Parameter sequence: larger than those that are held.
    package mutating func hold(_ sequence: UInt64) { held.append(sequence) }

    /// Holds events that were held before the outbox of another link, whose events have moved to this one.
    package mutating func hold(contentsOf sequences: [UInt64]) { held += sequences }

    /// An event lies in all outboxes that it goes to.
    package mutating func release(_ sequence: UInt64) { held.removeAll { $0 == sequence } }

    /// Whether any event may leave.
    package var isOpen: Bool { isReleased && !isPaused && !isKept }

    /// Whether what lies here may stay for as long as it likes.
    package var holdsBack: Bool { isPaused || isKept }

    /// Whether an event is held.
    package var isHolding: Bool { !held.isEmpty }

    /// The newest event that may leave as far as held events allow.
    package var last: UInt64 { held.first.map { $0 - 1 } ?? .max }
}
