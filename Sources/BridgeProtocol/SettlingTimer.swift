package import DomainEvents

/// Measures how long the receiver takes to settle an event, one event at a time, as TCP measures round trips.
///
/// While no event is timed, the next event that leaves is timed. Its time is recorded when the event is acknowledged
/// or refused. So a flood costs one comparison for each batch and each acknowledgement, however many events they have.
package struct SettlingTimer: Sendable {
    /// The event that is timed; 0 for none.
    private var sequence: UInt64 = 0
    private var start: UInt64 = 0
    package private(set) var histogram = DurationHistogram()

    package init() {}

    /// Whether an event that leaves now would be timed.
    package var isIdle: Bool { sequence == 0 }

    /// An event leaves; `now` is the time on the monotonic clock, in nanoseconds.
    package mutating func began(_ sequence: UInt64, at now: UInt64) {
        guard isIdle else { return }
        (self.sequence, start) = (sequence, now)
    }

    /// Events have been settled, or at least handled.
    package mutating func acknowledged(_ acknowledgement: CheckedAcknowledgement, at now: UInt64) {
        if isIdle { return }
        guard sequence <= acknowledgement.mark || acknowledgement.ranges.contains(where: { $0.contains(sequence) })
        else { return }
        finish(at: now)
    }

    package mutating func refused(_ sequence: UInt64, at now: UInt64) {
        if !isIdle, sequence == self.sequence { finish(at: now) }
    }

    private mutating func finish(at now: UInt64) {
        histogram.record(nanoseconds: now > start ? now - start : 0)
        sequence = 0
    }
}
