import DomainEvents

/// What one side of a link grants and tolerates; it checks every number from a peer against these limits before it
/// takes memory.
package struct LinkLimits: Sendable, Hashable {
    /// The largest frame body, in bytes.
    ///
    /// 16 MiB: large enough for documents, small enough that one frame does no harm.
    package var frameBytes = 16 << 20

    /// The largest frame body before the handshake is done: no peer needs much to say who it is.
    package var handshakeFrameBytes = 64 << 10

    /// How much a peer may have written that is not acknowledged yet, in charged bytes.
    package var windowBytes = 1 << 20

    /// How many events a peer may have written that are not acknowledged yet.
    package var windowEvents = 4_096

    /// How many charged bytes an outbox holds when publishers begin to wait for room.
    package var outboxBytes = 4 << 20

    /// How many charged bytes an outbox holds when `publish` begins to drop.
    package var outboxHardBytes = 64 << 20

    /// What becomes of events for which the outbox has no room.
    package var overflow = OverflowPolicies()

    /// How many event names a peer may want at once.
    package var interestNames = 16_384

    /// How many event names a peer may introduce beyond those that this process knows, publishes or wants.
    package var newEventNames = Int.max

    /// How many control messages a peer may send in a second, not counting answers to events; `nil` for any number.
    package var controlMessages: Int?

    /// The longest event name, in UTF-8 bytes.
    package var eventNameBytes = EventName.maximumBytes

    /// How many processes a receipt may name.
    package var processNames = 4_096

    package init() {}

    /// If both sides share memory, frames of at least this length stay in it, and only their place is sent.
    ///
    /// Measured: at such lengths one copy and a system call cost less than two copies through a socket's small buffer.
    package static let placedBytes = 32 << 10

    /// An event is charged at least this much: in a flood of tiny events the bookkeeping is the cost, not the bytes.
    package static let minimumCharge = 256

    /// The charged bytes of a frame of this length: what it takes of a window or an outbox.
    package static func charge(forFrameOf length: Int) -> Int { max(length, minimumCharge) }

    /// How many bytes of control messages may wait for a peer that reads nothing.
    ///
    /// Room for a thousand of the largest, or for an interest in 16,384 names. Hardly any wait for a peer that reads.
    package static let waitingControlBytes = 4 << 20

    /// How many windows beyond the oldest unacknowledged event a sender may go: this bounds what the receiver remembers
    /// of events that were handled out of order.
    package static let spanInWindows = 4

    /// The highest sequence that may be sent while all events up to `mark` are acknowledged.
    package static func lastSequence(afterMark mark: UInt64, windowEvents: Int) -> UInt64 {
        mark &+ UInt64(spanInWindows * windowEvents)
    }
}
