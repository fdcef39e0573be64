import BridgeClient
import DomainEvents
import JSONText

/// Reports that the link to a host has ended, and that there is a link again.
struct HostReporter: Sendable {
    let diagnostics: Diagnostics
    /// Prints the gap for the time without a link.
    let printer: EventPrinter
    /// Called when the link is lost for good.
    let ended: @Sendable () -> Void

    /// Subscribes to the client's reports; they are handled until the subscriptions are released.
    func subscribe(to publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: HostLost.self) { lost($0) },
            publisher.subscribe(to: HostRegained.self) { regained($0) },
        ]
    }

    private func lost(_ event: HostLost) {
        diagnostics.say("\(event.reason)\(event.isFinal ? "" : "; attaching again")", .warning)
        if event.isFinal { ended() }
    }

    private func regained(_ event: HostRegained) {
        printer.print(.away)
        let away = DurationText.text(.milliseconds(Int64(clamping: event.awayMilliseconds)))
        let whom = event.isSameHost ? "the same supervisor" : "a supervisor that was started meanwhile"
        let last = event.lastEvent.map { "; the last one before was \($0)" } ?? ""
        diagnostics.say(
            "attached again after \(away), as \(event.client), to \(whom): events of the time between are missing\(last)",
            .warning
        )
    }
}
