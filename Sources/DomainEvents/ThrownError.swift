/// The error of a handler, and where that handler was subscribed.
///
/// The first error of an event also holds the later ones.
package final class ThrownError: Sendable, CustomStringConvertible {
    // This is a class, so that the usual result, without an error, takes one word.

    /// How many Unicode scalars of an error's own words are kept, so that a refusal has room for the handler's place.
    private static let longest = 768

    package let error: any Error

    /// Where the handler was subscribed; nil for an error that names no handler.
    package let site: SubscriptionSite?

    /// Whether a journal has failed to record the event, with this error or with one that came after it.
    package let lacksRecord: Bool

    /// The errors of the event's other handlers, in the order in which these threw.
    private let later: [ThrownError]

    private weak let publisher: EventPublisher?

    /// - Parameter publisher: the publisher of the handler.
    package convenience init(
        _ error: any Error,
        at site: SubscriptionSite?,
        of publisher: EventPublisher?,
        lacksRecord: Bool = false
    ) {
        self.init(error, at: site, of: publisher, lacksRecord: lacksRecord, later: [])
    }

    private init(
        _ error: any Error,
        at site: SubscriptionSite?,
        of publisher: EventPublisher?,
        lacksRecord: Bool,
        later: [ThrownError]
    ) {
        self.error = error
        self.site = site
        self.publisher = publisher
        self.lacksRecord = lacksRecord
        self.later = later
    }

    /// This error with `next` and its later errors added; it has `lacksRecord` if this error or `next` has it.
    func followed(by next: ThrownError) -> ThrownError {
        ThrownError(
            error,
            at: site,
            of: publisher,
            lacksRecord: lacksRecord || next.lacksRecord,
            later: later + next.all
        )
    }

    /// This error, then the errors of the event's other handlers.
    package var all: [ThrownError] { [self] + later }

    /// Publishes a ``HandlerFailed`` with this error, as the handler's publisher does if no caller waits for the event.
    package func report(of name: String, _ context: EventContext) {
        guard let site, let publisher, let channel = publisher.channel(named: name) else { return }
        publisher.publishFailure(of: channel.eventType, named: name, context: context, error: error, site: site)
    }

    /// The error in its own words, then module, file and line: `StoreFull() (handler at Warehouse/Store.swift:12)`.
    package var description: String {
        guard let site else { return "\(error)" }
        // A refusal's sentence that is too long is cut at its end; the handler's place must not be cut off.
        let words = String(String.UnicodeScalarView("\(error)".unicodeScalars.prefix(Self.longest)))
        return "\(words) (handler at \(site))"
    }
}
