/// What becomes of events of one name if a link's outbox has no room for them.
///
/// No policy touches an event that has begun to leave, is replayed or was a dead letter; none changes the order of
/// events. A dropped event is counted, announced as ``EventsDropped``, and shown to the receiver as a gap at its place.
public enum OverflowPolicy: Sendable, Hashable {
    /// The default: `send` waits for room; `publish` goes on to the hard limit.
    case wait

    /// `send` and `deliver` throw ``DeliveryError/Code/outboxFull`` at once; `publish` drops the event.
    case fail

    /// Drops the oldest waiting events of this name, as many as the new event needs. If even all of them would not make
    /// enough room, they stay, and the new event is dropped.
    case dropOldest

    /// Drops the new event.
    case dropNewest

    /// Of the events with the same value in the encoded field of this name, only the latest waits, whether or not the
    /// outbox is full.
    ///
    /// The latest event waits at its own place, after the events that were published before it. The replaced event is
    /// counted as coalesced, and neither announced nor shown as a gap: a program that chooses this policy does not need
    /// that event. An event without such a field is never coalesced. An event takes the room of the one that it
    /// replaces; a larger event, or one with another value, finds room as with ``dropOldest``.
    case latest(by: String)
}
