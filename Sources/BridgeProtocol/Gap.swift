package import DomainEvents

/// The place in a stream of events where events were dropped.
package struct Gap: Sendable, Hashable {
    package enum Reason: UInt64, Sendable, CaseIterable {
        /// An overflow policy dropped the events.
        case policy = 1
        /// The outbox was at its hard limit.
        case full = 2

        /// The reason that a frame gives; unknown numbers count as ``policy``.
        package init(asWritten number: UInt64) { self = Self(rawValue: number) ?? .policy }
    }

    /// The first and the last dropped event of one source; events between the two may have arrived.
    package struct Range: Sendable, Hashable {
        package var first: EventID
        package var last: UntrustedNumber

        package init(first: EventID, last: UntrustedNumber) {
            self.first = first
            self.last = last
        }
    }

    /// The most ranges of a gap, one for each source; events of further sources are only counted.
    package static let maximumRanges = 64

    package let name: String
    package let reason: Reason
    package private(set) var count: UntrustedNumber
    package private(set) var ranges: [Range]

    /// - Parameter ranges: those of one source become one range.
    package init(name: String, reason: Reason, count: UntrustedNumber, ranges: [Range]) {
        self.name = name
        self.reason = reason
        self.count = count
        self.ranges = []
        for range in ranges { add(range) }
    }

    package init(_ id: EventID, name: String, reason: Reason) {
        self.init(
            name: name,
            reason: reason,
            count: 1,
            ranges: [Range(first: id, last: UntrustedNumber(id.number))]
        )
    }

    /// Merges `other`, which has the same name and reason, into this gap.
    package mutating func merge(_ other: Gap) {
        count = count.saturatingSum(other.count)
        for range in other.ranges { add(range) }
    }

    private mutating func add(_ range: Range) {
        if let known = ranges.firstIndex(where: { $0.first.isSameOrigin(as: range.first) }) {
            if range.first.number < ranges[known].first.number { ranges[known].first = range.first }
            ranges[known].last = max(ranges[known].last, range.last)
        } else if ranges.count < Self.maximumRanges {
            ranges.append(range)
        }
    }
}

extension EventID {
    fileprivate func isSameOrigin(as other: EventID) -> Bool {
        source == other.source
    }
}
