/// Says which events of a link are handled: all up to a mark, and some above it.
package struct Acknowledgement: Sendable, Hashable {
    /// Every event with a link sequence up to this one is handled.
    package var mark: UntrustedNumber

    /// Handled events above the mark, ascending and apart from each other; at most ``maximumRanges``.
    package var ranges: [ClosedRange<UntrustedNumber>]

    /// The acknowledgement counts only once this event of the *acknowledging* side has arrived, because its handlers
    /// published it before they returned; 0 if nothing is outstanding.
    ///
    /// The window's credit comes back regardless.
    package var after: UntrustedNumber

    /// How many events of the whole link have found no handler on arrival so far.
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

    /// With more ranges than this, the sender names only the oldest, so that the message stays small.
    package static let maximumRanges = 64
}
