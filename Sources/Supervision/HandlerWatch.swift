/// Decides when a child has had an event in its handlers for too long.
///
/// The caller checks four times within the deadline, and says which events the child is handling. An event's time
/// counts from the check that first finds the event to the check at which the deadline has passed. So an event always
/// has the full deadline and, if no check comes late, at most about one and a half times that. After this process, or
/// the machine, has stood still, every event has its full time again.
package struct HandlerWatch: Hashable, Sendable {
    /// The events that a child was handling when the caller checked; each event has a number, and the numbers rise.
    package struct Work: Hashable, Sendable {
        /// The event whose handlers run on the child's reading thread.
        package var inline: UInt64?
        /// The oldest event that has begun and is not finished, wherever its handlers run.
        ///
        /// Younger events may be waiting for their turn after this event, and their time does not count.
        package var oldest: UInt64?

        package init(inline: UInt64? = nil, oldest: UInt64? = nil) {
            self.inline = inline
            self.oldest = oldest
        }
    }

    /// An event whose time is over.
    package enum Overdue: Hashable, Sendable {
        case inline(UInt64)
        case oldest(UInt64)

        package var event: UInt64 {
            switch self {
            case .inline(let event), .oldest(let event): event
            }
        }
    }

    private struct Seen: Hashable, Sendable {
        let event: UInt64
        let since: Duration

        init?(_ event: UInt64?, before: Seen?, at now: Duration) {
            guard let event else { return nil }
            self.event = event
            since = before?.event == event ? before?.since ?? now : now
        }
    }

    private static let looksPerDeadline = 4
    private static let shortestInterval = Duration.milliseconds(1)
    /// How late a check may be on a machine that is merely busy.
    private static let shortestSlack = Duration.milliseconds(50)

    private let deadline: Duration
    private var clock: LookClock
    private var inline: Seen?
    private var oldest: Seen?

    package init(deadline: Duration, from now: Duration) {
        self.deadline = deadline.clampedToAllowed
        let interval = max(self.deadline / Self.looksPerDeadline, Self.shortestInterval)
        clock = LookClock(every: interval, slack: max(interval / 2, Self.shortestSlack), from: now)
    }

    package var nextLook: Duration { clock.nextLook }

    /// Notes what a check has found, and returns the events whose time is over.
    ///
    /// - Parameter work: what the child is handling; nil if that is not known.
    /// - Returns: The overdue events; the inline one comes first, because only that one surely holds up the child.
    package mutating func looked(at now: Duration, work: Work?) -> [Overdue] {
        let isInTime = clock.looked(at: now)
        inline = Seen(work?.inline, before: isInTime ? inline : nil, at: now)
        oldest = Seen(work?.oldest, before: isInTime ? oldest : nil, at: now)
        var overdue: [Overdue] = []
        if let inline, now - inline.since >= deadline { overdue.append(.inline(inline.event)) }
        if let oldest, oldest.event != inline?.event, now - oldest.since >= deadline {
            overdue.append(.oldest(oldest.event))
        }
        return overdue
    }
}
