import BridgeProtocol
import DomainEvents

/// A place where events are missing, as it is printed.
struct PrintedGap: Sendable, Hashable {
    /// Why the events are missing.
    enum Reason: String, Sendable, Hashable {
        /// The events came faster than they were read, and there was no room for them on the way.
        case dropped
        /// There was no link to the supervisor.
        case away
    }

    /// The name of the missing events; nil for any.
    let name: String?
    /// The number of missing events; nil if it is unknown and may be 0.
    let count: UInt64?
    let reason: Reason
    /// The first and the last missing event of each origin; events between them may have come.
    let ranges: [Gap.Range]

    init(_ gap: Gap) {
        (name, count, reason, ranges) = (gap.name, gap.count.asWritten, .dropped, gap.ranges)
    }

    private init(reason: Reason) {
        (name, count, self.reason, ranges) = (nil, nil, reason, [])
    }

    /// The gap for a time without a link.
    static let away = PrintedGap(reason: .away)
}
