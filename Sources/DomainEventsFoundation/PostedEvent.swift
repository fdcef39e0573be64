public import DomainEvents

/// The `object` of a notification that was made from an event.
///
/// Adapters read from it where the event has been. Observers may read which event it was, or ignore it.
public final class PostedEvent: Sendable {
    /// The event's identity, cause and root.
    public let context: EventContext

    let route: NotificationRoute

    init(context: EventContext, route: NotificationRoute) {
        self.context = context
        self.route = route
    }
}
