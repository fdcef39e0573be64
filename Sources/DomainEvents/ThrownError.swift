/// What a handler has thrown, and where that handler was subscribed.
package final class ThrownError: Sendable, CustomStringConvertible {
    // A class: what a handler returns mostly holds none of these, and passes one word.

    /// Of an error's own words so many scalars are kept before its place: as much as a refusal has room for beside it.
    private static let longest = 768

    package let error: any Error

    /// Nil for an error that names no handler.
    package let site: SubscriptionSite?

    package init(_ error: any Error, at site: SubscriptionSite?) {
        self.error = error
        self.site = site
    }

    /// The error in its own words, then module, file and line: `StoreFull() (handler at Warehouse/Store.swift:12)`.
    package var description: String {
        guard let site else { return "\(error)" }
        // A sentence is cut at its end where it is long, and the place is not to be what is cut off.
        let words = String(String.UnicodeScalarView("\(error)".unicodeScalars.prefix(Self.longest)))
        return "\(words) (handler at \(site))"
    }
}
