import BridgeProtocol
import DomainEvents

/// A place where events are missing, as it is printed.
struct PrintedGap: Sendable, Hashable {
    /// Why they are missing.
    enum Reason: String, Sendable, Hashable {
        /// They came faster than they were read, and there was no room for them on the way.
        case dropped
        /// There was no link to the supervisor.
        case away
    }

    /// Of which events; nil for any.
    let name: String?
    /// How many; nil if that is not known, and perhaps none is missing.
    let count: UInt64?
    let reason: Reason
    /// From the first to the last of each origin; not all between are missing.
    let ranges: [Gap.Range]

    init(_ gap: Gap) {
        (name, count, reason, ranges) = (gap.name, gap.count.asWritten, .dropped, gap.ranges)
    }

    private init(reason: Reason) {
        (name, count, self.reason, ranges) = (nil, nil, reason, [])
    }

    /// The time in which there was no link.
    static let away = PrintedGap(reason: .away)
}
