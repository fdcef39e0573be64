import BridgeProtocol
import DomainEvents
import EventRouting

/// Prints the events from a host that pass the filter.
struct EventPrinter: Sendable {
    let formatter: any EventFormatter
    let filter: EventFilter
    let events: LineOutput

    /// The origin of a host's own events: the default name of a publisher.
    private static let host = "host"

    /// Prints the event, and waits for the reader.
    @Sendable
    func print(_ event: PassingEvent) {
        guard filter.shows(event.name, of: event.context.id.origin, host: event.sender) else { return }
        events.write(formatter.line(PrintedEvent(fromHost: event)), whenFull: .wait)
    }

    @Sendable
    func print(_ gap: Gap) { print(PrintedGap(gap)) }

    /// Prints the gap without waiting for the reader: gaps are few, because each stands for many events.
    func print(_ gap: PrintedGap) {
        guard filter.shows(gap, host: Self.host) else { return }
        events.write(formatter.line(gap), whenFull: .take)
    }
}
