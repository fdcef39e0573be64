/// The error of a handler, and where that handler was subscribed.
package final class ThrownError: Sendable, CustomStringConvertible {
    // This is a class, so that the usual result, without an error, takes one word.

    /// How many Unicode scalars of an error's own words are kept, so that a refusal has room for the handler's place.
    private static let longest = 768

    package let error: any Error

    /// Where the handler was subscribed; nil for an error that names no handler.
    package let site: SubscriptionSite?

    /// Whether a journal has failed to record the event, with this error or with one that came after it.
    package let lacksRecord: Bool

    package init(_ error: any Error, at site: SubscriptionSite?, lacksRecord: Bool = false) {
        self.error = error
        self.site = site
        self.lacksRecord = lacksRecord
    }

    /// The event's error after a later one: this error, marked with `lacksRecord` if either is.
    func followed(by later: ThrownError) -> ThrownError {
        lacksRecord || !later.lacksRecord ? self : ThrownError(error, at: site, lacksRecord: true)
    }

    /// The error in its own words, then module, file and line: `StoreFull() (handler at Warehouse/Store.swift:12)`.
    package var description: String {
        guard let site else { return "\(error)" }
        // A long sentence is cut at its end, and the place must not be cut off.
        let words = String(String.UnicodeScalarView("\(error)".unicodeScalars.prefix(Self.longest)))
        return "\(words) (handler at \(site))"
    }
}
