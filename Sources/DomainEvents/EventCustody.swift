/// A receiver that a recorded event is owed to, until the receiver has settled the event.
@usableFromInline
package struct OwedReceiver: Sendable, Hashable {
    /// The name of the worker, or of the pool whose members share the event.
    package let name: String
    /// Whether the worker's specification subscribes to the event; if not, only its process had asked for the event.
    package let isSpecified: Bool

    package init(name: String, isSpecified: Bool) {
        self.name = name
        self.isSpecified = isSpecified
    }
}

/// The worker that a note is about: the note says what became of an event there.
package struct NotedReceiver: Sendable, Hashable {
    package let name: String
    /// The worker's pool, to which the event may be owed in place of the worker; nil if it has none.
    package let pool: String?

    package init(name: String, pool: String? = nil) {
        self.name = name
        self.pool = pool
    }

    /// Whether an event that is owed to the receiver of this name is owed to this worker.
    package func isOwed(as name: String) -> Bool { name == self.name || name == pool }
}

/// What became of recorded events: a host notes this beside the events, for the next host.
///
/// A note is about events recorded before it. If a note is lost, its events may come again, with a higher attempt.
package enum CustodyNote: Sendable, Hashable {
    /// The receiver has settled these events of one source.
    case settled(source: EventSource, ranges: [ClosedRange<UInt64>], by: NotedReceiver)
    /// The receiver has crashed over the event, for this reason.
    case strike(EventID, at: NotedReceiver, reason: String)
    /// The event became a dead letter.
    case letter(NotedLetter)
    /// A dead letter's event is owed again, or was thrown away.
    case letterGone(EventID, of: NotedReceiver, isOwedAgain: Bool)
    /// A host has taken over everything that is owed.
    case hostStarted(incarnation: UInt64)

    /// How many ranges a note of settled events has at most.
    package static let mostRanges = 1_024

    /// The same numbers as ranges in ascending order, none of which overlaps or touches the next.
    package static func joined(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
        var result: [ClosedRange<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound || range.lowerBound - 1 == last.upperBound {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}

/// A dead letter as it is noted; its event lies in the journal.
package struct NotedLetter: Sendable, Hashable {
    package var event: EventID
    package var receiver: NotedReceiver
    /// The letter's number among all letters of its host.
    package var number: UInt64
    package var cause: EventDeadLettered.Cause
    package var reasons: [String]
    /// How many of the reasons are strikes.
    package var strikes: Int
    package var attempts: Int
    package var nanosecondsSinceEpoch: UInt64

    package init(
        event: EventID,
        receiver: NotedReceiver,
        number: UInt64,
        cause: EventDeadLettered.Cause,
        reasons: [String],
        strikes: Int,
        attempts: Int,
        nanosecondsSinceEpoch: UInt64
    ) {
        self.event = event
        self.receiver = receiver
        self.number = number
        self.cause = cause
        self.reasons = reasons
        self.strikes = strikes
        self.attempts = attempts
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
    }
}

/// An event that an earlier host has not seen settled at one receiver.
package struct OwedEvent: Sendable {
    /// The worker or pool that the event's record names; ``letter`` names a dead letter's worker.
    package let receiver: OwedReceiver
    package let name: String
    package let context: EventContext
    package let payload: [UInt8]
    /// How often the event was handed to the receiver, as far as the records say; at least 1.
    ///
    /// Each start of a host that took over the event counts, even if that host was killed before the event left. A
    /// crash that costs no strike is not noted, and does not count.
    package let attempts: Int
    /// For each incarnation that crashed over the event, oldest first, the reason why it ended.
    package let strikes: [String]
    /// The dead letter that the event has become; nil if it is still to be delivered.
    package let letter: NotedLetter?

    package init(
        receiver: OwedReceiver,
        name: String,
        context: EventContext,
        payload: [UInt8],
        attempts: Int,
        strikes: [String],
        letter: NotedLetter?
    ) {
        self.receiver = receiver
        self.name = name
        self.context = context
        self.payload = payload
        self.attempts = attempts
        self.strikes = strikes
        self.letter = letter
    }
}
