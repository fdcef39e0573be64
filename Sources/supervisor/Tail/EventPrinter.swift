import BridgeProtocol
import DomainEvents
import EventRouting

/// Filters and prints the events from a host.
struct EventPrinter: Sendable {
    let formatter: any EventFormatter
    let filter: EventFilter
    let events: LineOutput

    /// A host's own events have this origin: the default of `EventPublisher`.
    private static let host = "host"

    /// Prints the event; waits if the reader is slow.
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
