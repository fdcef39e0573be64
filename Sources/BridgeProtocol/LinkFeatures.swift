/// The optional features of one side of a link, as its hello or welcome lists them.
package struct LinkFeatures: OptionSet, Sendable, Hashable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// This side takes events from the memory that the other side shares.
    package static let takesPlacedEvents = LinkFeatures(rawValue: 1)

    /// This side acknowledges nothing: each event counts as settled once it is written, and is never sent again.
    package static let acknowledgesNothing = LinkFeatures(rawValue: 2)

    /// In a hello, the worker wants to put bookmarks on its events; in a welcome, the host keeps them.
    package static let bookmarks = LinkFeatures(rawValue: 4)

    /// This side, a host, takes imported events: events of another machine that keep the identity that they had there.
    package static let takesImportedEvents = LinkFeatures(rawValue: 8)

    /// This side, the host, reads the number of the worker's heartbeats in the worker's shared outbox.
    package static let readsHeartbeats = LinkFeatures(rawValue: 16)
}
