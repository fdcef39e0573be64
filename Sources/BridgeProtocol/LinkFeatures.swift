/// What one side of a link can do beyond what every peer can; told in its hello or welcome.
package struct LinkFeatures: OptionSet, Sendable, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// It takes events from the memory that the other side shares with it.
    package static let takesPlacedEvents = LinkFeatures(rawValue: 1)

    /// It acknowledges nothing: an event counts as settled, unconfirmed, once it is written, and is never sent again.
    package static let acknowledgesNothing = LinkFeatures(rawValue: 2)
}
