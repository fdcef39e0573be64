/// Says which events of a link are handled: all up to a mark, and some above it.
package struct Acknowledgement: Sendable, Hashable {
    /// Every event with a link sequence up to this one is handled.
    package var mark: UntrustedNumber

    /// Handled events above the mark, ascending and apart from each other; at most ``maximumRanges``.
    package var ranges: [ClosedRange<UntrustedNumber>]

    /// The event of the *acknowledging* side that must arrive before the acknowledgement counts; 0 for none.
    ///
    /// All events that the handlers of the acknowledged events published are this event or earlier ones. The window's
    /// credit is given back without waiting for this event.
    package var after: UntrustedNumber

    /// How many of the link's events so far found no handler when they arrived.
    ///
    /// Only the sender's statistics use it.
    package var unwanted: UntrustedNumber

    package init(
        mark: UInt64,
        ranges: [ClosedRange<UntrustedNumber>] = [],
        after: UInt64 = 0,
        unwanted: UInt64 = 0
    ) {
        self.mark = UntrustedNumber(mark)
        self.ranges = ranges
        self.after = UntrustedNumber(after)
        self.unwanted = UntrustedNumber(unwanted)
    }

    /// The most ranges in one acknowledgement: it names only the oldest ranges, so that it stays small.
    package static let maximumRanges = 64
}
