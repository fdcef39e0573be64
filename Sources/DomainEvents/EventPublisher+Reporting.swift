/// What a bridge needs to publish its reports on its own thread.
extension EventPublisher {
    /// Whether any subscriber, here or elsewhere, gets the events of this type.
    package func isReached<E: DomainEvent>(by type: E.Type) -> Bool { channel(of: type).isReached }

    /// Publishes an event that was made earlier, with the identity, time and cause that it got when it was made.
    package func publish<E: DomainEvent>(_ event: E, as context: EventContext) {
        let channel = channel(of: E.self)
        guard let subscribers = channel.currentSubscribers() else { return }
        _ = channel.publish(event, context: context, to: subscribers, from: self, ifFull: .drop)
    }
}
