import DomainEvents

/// What one side of a link grants and tolerates; it checks a peer's numbers against these limits before taking memory.
///
/// The *charged* bytes of an event are the length of its frame, but at least `minimumCharge`.
package struct LinkLimits: Sendable, Hashable {
    /// The largest frame body, in bytes.
    ///
    /// 16 MiB: large enough for documents, small enough that one frame does no harm.
    package var frameBytes = Self.usualFrameBytes

    /// The largest frame body that a host takes unless its program sets another limit, in bytes.
    package static let usualFrameBytes = 16 << 20

    /// The largest frame body that any limit allows: 1 GiB, which fits in the 32 bits of a frame's length.
    package static let greatestFrameBytes = 1 << 30

    /// The largest frame body before the handshake is done, in bytes: no peer needs much to say who it is.
    package var handshakeFrameBytes = 64 << 10

    /// How many charged bytes a peer may have written that are not acknowledged yet.
    package var windowBytes = 1 << 20

    /// How many events a peer may have written that are not acknowledged yet.
    package var windowEvents = 4_096

    /// How many charged bytes an outbox holds when publishers begin to wait for room.
    package var outboxBytes = 4 << 20

    /// How many charged bytes an outbox holds when `publish` begins to drop.
    package var outboxHardBytes = 64 << 20

    /// What becomes of events for which the outbox has no room.
    package var overflow = OverflowPolicies()

    /// How many event names a peer may want while a link lives, including those that it no longer wants.
    package var interestNames = 16_384

    /// How many event names a peer may introduce beyond those that this process knows, publishes or wants.
    package var newEventNames = Int.max

    /// How many control messages a peer may send in a second, not counting answers to events; `nil` for any number.
    package var controlMessages: Int?

    /// The longest event name, in UTF-8 bytes.
    package var eventNameBytes = EventName.maximumBytes

    /// How many processes a receipt may name besides the one that it speaks of.
    package var processNames = Self.receiptNames

    package init() {}

    /// How many further processes every peer lets a receipt name.
    package static let receiptNames = 4_096

    /// The least length, in bytes, of a frame that is placed: it stays in shared memory, and only its place is sent.
    ///
    /// Measured: from this length on, one copy and a system call cost less than two copies through a socket's small
    /// buffer.
    package static let placedBytes = 32 << 10

    /// The least charge of an event, in bytes: in a flood of tiny events the bookkeeping is the cost, not the bytes.
    package static let minimumCharge = 256

    /// How many bytes of a window or an outbox a frame of this length is charged.
    package static func charge(forFrameOf length: Int) -> Int { max(length, minimumCharge) }

    /// How many bytes of control messages may wait for a peer that reads nothing.
    ///
    /// This is room for a thousand refusals with the longest text. Hardly any bytes wait for a peer that reads. Hello,
    /// welcome and interest do not count: ``WriteBatch/queue(_:)`` and ``InterestChanges`` say what bounds them.
    package static let waitingControlBytes = 4 << 20

    /// How many windows a sender may go beyond the oldest unacknowledged event: this bounds how much the receiver
    /// remembers of events that were handled out of order.
    package static let spanInWindows = 4

    /// The highest sequence that may be sent when all events up to `mark` are acknowledged.
    package static func lastSequence(afterMark mark: UInt64, windowEvents: Int) -> UInt64 {
        mark &+ UInt64(spanInWindows * windowEvents)
    }
}
