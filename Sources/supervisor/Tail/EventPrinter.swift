import BridgeProtocol
import DomainEvents
import EventRouting

/// Prints what comes from a host, as far as it is to be shown.
struct EventPrinter: Sendable {
    let formatter: any EventFormatter
    let filter: EventFilter
    let events: LineOutput

    /// What a host's own events are called after; a publisher that was given no name is called so.
    private static let host = "host"

    /// Waits for the reader.
    @Sendable
    func print(_ event: PassingEvent) {
        guard filter.shows(event.name, of: event.context.id.origin, host: event.sender) else { return }
        events.write(formatter.line(PrintedEvent(fromHost: event)), whenFull: .wait)
    }

    @Sendable
    func print(_ gap: Gap) { print(PrintedGap(gap)) }

    /// Never left out, however slow the reader is: there are few, as each stands for many events.
    func print(_ gap: PrintedGap) {
        guard filter.shows(gap, host: Self.host) else { return }
        events.write(formatter.line(gap), whenFull: .take)
    }
}
