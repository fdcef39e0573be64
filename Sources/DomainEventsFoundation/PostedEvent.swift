public import DomainEvents

/// The `object` of a notification that was made from an event.
///
/// Observers may ignore it. Adapters read from it where the event has been, and observers which event it was.
public final class PostedEvent: Sendable {
    /// The event's identity, cause and root.
    public let context: EventContext

    let route: NotificationRoute

    init(context: EventContext, route: NotificationRoute) {
        self.context = context
        self.route = route
    }
}
