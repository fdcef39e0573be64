import BridgeProtocol
import DomainEvents
import EventRouting

/// An event as it is printed: its description, and its content as it can be shown.
struct PrintedEvent {
    let name: String
    let context: EventContext
    /// The worker or client that sent the event; nil for an event of the supervisor itself, such as one of its input.
    let sender: String?
    let content: ShownPayload

    init(name: String, context: EventContext, sender: String?, content: ShownPayload) {
        self.name = name
        self.context = context
        self.sender = sender
        self.content = content
    }

    /// Describes an event that passes through this process.
    init(_ event: PassingEvent) {
        self.init(
            name: event.name,
            context: event.context,
            sender: event.sender,
            content: ShownPayload(event.payload)
        )
    }

    /// Describes an event that a host has sent; if the host only passed it on, `sender` is the event's origin.
    init(fromHost event: PassingEvent) {
        let origin = event.context.id.origin
        self.init(
            name: event.name,
            context: event.context,
            sender: origin == event.sender ? nil : origin,
            content: ShownPayload(event.payload)
        )
    }
}
