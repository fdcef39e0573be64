import DomainEvents

/// What one side of a link grants and tolerates; every number from a peer is checked against these before memory is
/// taken.
package struct LinkLimits: Sendable, Hashable {
    /// The largest frame body, in bytes.
    ///
    /// 16 MiB: large enough for documents, small enough that one frame does no harm.
    package var frameBytes = 16 << 20

    /// The largest frame body before the handshake is done: no peer needs much to say who it is.
    package var handshakeFrameBytes = 64 << 10

    /// What a peer may have written and not yet seen acknowledged, in charged bytes.
    package var windowBytes = 1 << 20

    /// What a peer may have written and not yet seen acknowledged, in events.
    package var windowEvents = 4_096

    /// How full an outbox is when publishers begin to wait for room, in charged bytes.
    package var outboxBytes = 4 << 20

    /// How full an outbox is when `publish` begins to drop, in charged bytes.
    package var outboxHardBytes = 64 << 20

    /// What becomes of events for which the outbox has no room.
    package var overflow = OverflowPolicies()

    /// How many event names a peer may want at once.
    package var interestNames = 16_384

    /// How many event names a peer may introduce that this process did not know, publish or want.
    package var newEventNames = Int.max

    /// How many control messages a peer may send in a second beside those that answer events; `nil` for any number.
    package var controlMessages: Int?

    /// The longest event name, in UTF-8 bytes.
    package var eventNameBytes = EventName.maximumBytes

    /// How many processes a receipt may name.
    package var processNames = 4_096

    package init() {}

    /// Frames of at least this length stay in the memory that both sides share, if they do; only their place is sent.
    ///
    /// Measured: from here on, one copy and a system call cost less than two copies through a socket's small buffer.
    package static let placedBytes = 32 << 10

    /// An event is charged at least this much: in a flood of tiny events the bookkeeping costs, not the bytes.
    package static let minimumCharge = 256

    /// What a frame of this length takes of a window or an outbox.
    package static func charge(forFrameOf length: Int) -> Int { max(length, minimumCharge) }

    /// How many bytes of control messages may wait for a peer that reads nothing.
    ///
    /// Room for a thousand of the largest, or for an interest in 16,384 names; next to none wait for a peer that reads.
    package static let waitingControlBytes = 4 << 20

    /// How far beyond the oldest unacknowledged event a sender goes, in windows: this bounds what the receiver
    /// remembers of events that were handled out of order.
    package static let spanInWindows = 4

    /// The highest sequence that may be sent while `mark` is the acknowledged one.
    package static func lastSequence(afterMark mark: UInt64, windowEvents: Int) -> UInt64 {
        mark &+ UInt64(spanInWindows * windowEvents)
    }
}
