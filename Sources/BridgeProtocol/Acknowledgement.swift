/// Says which events of a link are handled: all up to a mark, and some above it.
package struct Acknowledgement: Sendable, Hashable {
    /// Every event with a link sequence up to this one is handled.
    package var mark: UntrustedNumber

    /// Handled events above the mark, ascending and apart from each other; at most ``maximumRanges``.
    package var ranges: [ClosedRange<UntrustedNumber>]

    /// The acknowledgement stands only once this event of the *acknowledging* side has arrived, because the handlers
    /// published it before they returned; 0 if nothing is outstanding.
    ///
    /// Window credit is given back regardless.
    package var after: UntrustedNumber

    /// How many of the events of the whole link so far found no handler when they arrived.
    ///
    /// For the sender's books only.
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

    /// Beyond this many ranges the sender keeps to the oldest, so that the message stays small.
    package static let maximumRanges = 64
}
