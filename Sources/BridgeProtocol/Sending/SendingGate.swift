/// Whether events leave, and up to which: a side's own reasons, beside which the peer's window has its say.
///
/// None leaves before the peer has said what it wants, while what could not be handled has filled the dead letters'
/// store, and once the peer is let go. An event that goes to several peers is held until it lies in all of their
/// outboxes, and with it what lies behind it.
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

    /// The events that were held before the outbox of a link whose events another one has taken over.
    package mutating func hold(contentsOf sequences: [UInt64]) { held += sequences }

    /// An event lies wherever it goes to.
    package mutating func release(_ sequence: UInt64) { held.removeAll { $0 == sequence } }

    /// Whether any event may leave.
    package var isOpen: Bool { isReleased && !isPaused && !isKept }

    /// Whether what lies here may stay for as long as it likes.
    package var holdsBack: Bool { isPaused || isKept }

    /// Whether an event is held.
    package var isHolding: Bool { !held.isEmpty }

    /// The newest event that may leave as far as those go that are held.
    package var last: UInt64 { held.first.map { $0 - 1 } ?? .max }
}
