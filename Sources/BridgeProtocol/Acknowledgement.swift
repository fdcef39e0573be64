/// Says which events of a link are handled: all up to a mark, and some above it.
package struct Acknowledgement: Sendable, Hashable {
    /// Every event with a link sequence up to this one is handled.
    package var mark: UInt64

    /// Handled events above the mark, ascending and apart from each other; at most ``maximumRanges``.
    package var ranges: [ClosedRange<UInt64>]

    /// The acknowledgement stands only once this event of the *acknowledging* side has arrived, because the handlers
    /// published it before they returned; 0 if nothing is outstanding.
    ///
    /// Window credit is given back regardless.
    package var after: UInt64

    /// How many of the events of the whole link so far found no handler when they arrived.
    ///
    /// For the sender's books only.
    package var unwanted: UInt64

    package init(mark: UInt64, ranges: [ClosedRange<UInt64>] = [], after: UInt64 = 0, unwanted: UInt64 = 0) {
        self.mark = mark
        self.ranges = ranges
        self.after = after
        self.unwanted = unwanted
    }

    /// Beyond this many holes the sender stops at the oldest: keeps the message small.
    package static let maximumRanges = 64
}
