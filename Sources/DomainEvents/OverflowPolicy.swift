/// What becomes of events of one name when the outbox of a link has no room for them.
///
/// No policy touches what has begun to leave, and no policy puts events into another order. What a policy drops is
/// counted, announced as ``EventsDropped``, and shown to the receiver as a gap in its place.
public enum OverflowPolicy: Sendable, Hashable {
    /// `send` waits for room; `publish` goes on to the hard limit. The default.
    case wait

    /// `send` and `deliver` throw ``DeliveryError/Code/outboxFull`` at once; `publish` drops the event.
    case fail

    /// The oldest event of this name that has not begun to leave makes room; the new one itself if there is none.
    case dropOldest

    /// The new event is dropped.
    case dropNewest

    /// Of the events whose encoded field of this name is equal, only the latest waits, whether or not the outbox is
    /// full.
    ///
    /// It waits in its own place, behind what was published before it. What it takes the place of is counted as
    /// coalesced, and is neither announced nor a gap: a program that chooses this has no use for it. An event that has
    /// no such field is never coalesced. Where there is no room for another value of the field, this acts as
    /// ``dropOldest``.
    case latest(by: String)
}
