/// What a bridge needs to publish its reports on a thread of its own.
extension EventPublisher {
    /// Whether anybody gets the events of this type, here or elsewhere.
    package func isReached<E: DomainEvent>(by type: E.Type) -> Bool { channel(of: type).isReached }

    /// Publishes an event that was made before: with the identity, time and cause that it was given then.
    package func publish<E: DomainEvent>(_ event: E, as context: EventContext) {
        let channel = channel(of: E.self)
        guard let routes = channel.currentRoutes() else { return }
        _ = channel.publish(event, context: context, to: routes, from: self, intake: .announced)
    }
}
