/// An ``Acknowledgement`` that an ``Outbox`` has checked: it names only events that the outbox has handed out.
package struct CheckedAcknowledgement: Sendable, Hashable {
    /// Every event up to this one is handled; all were handed out.
    package let mark: UInt64
    /// Handled events above the mark, ascending and without overlap; all were handed out.
    package let ranges: [ClosedRange<UInt64>]
    /// The event of the acknowledging side that must have arrived first; not checked.
    package let after: UntrustedNumber
    /// How many of the link's events have found no handler; not checked.
    package let unwanted: UntrustedNumber

    /// For a peer that acknowledges nothing, all events up to `mark`, the newest handed out, count as handled.
    init(mark: UInt64) {
        self.mark = mark
        ranges = []
        after = 0
        unwanted = 0
    }

    /// - Parameter lastComposed: the newest event that was handed out.
    /// - Throws: A violation if the peer names an event that was never handed out, or ranges that overlap or descend.
    package init(_ acknowledgement: Acknowledgement, lastComposed: UInt64) throws(LinkViolation) {
        let highest = max(acknowledgement.mark, acknowledgement.ranges.last?.upperBound ?? 0)
        guard highest <= lastComposed else {
            throw LinkViolation("acknowledged event \(highest), but \(lastComposed) is the newest that was written")
        }
        var below = acknowledgement.mark
        for range in acknowledgement.ranges {
            guard range.lowerBound > below else {
                throw LinkViolation("acknowledgement ranges overlap or descend at \(range.lowerBound)")
            }
            below = range.upperBound
        }
        // The checks above show that the numbers ascend, and that the highest was handed out.
        mark = acknowledgement.mark.asWritten
        ranges = acknowledgement.ranges.map { $0.lowerBound.asWritten...$0.upperBound.asWritten }
        after = acknowledgement.after
        unwanted = acknowledgement.unwanted
    }
}
