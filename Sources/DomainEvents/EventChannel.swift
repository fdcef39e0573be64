/// The typed channel: calls the handlers of one type's events.
@usableFromInline
package final class EventChannel<E: DomainEvent>: AnyEventChannel, @unchecked Sendable {
    // Sendable: adds nothing.

    init(name: String, forwarders: [any EventForwarder], isMuted: Bool) {
        super.init(name: name, eventType: E.self, forwarders: forwarders, isMuted: isMuted)
    }

    package override func subscribe(_ observer: any EventObserver, publisher: EventPublisher) -> Subscription? {
        let subscriber = InlineSubscriber<E>(site: SubscriptionSite(file: #fileID, line: #line)) { event in
            observer.observe(event)
        }
        // The observer sees an event before the other handlers on this thread. It sees muted publishers' events, too.
        add(first: subscriber)
        publisher.announceInterest(in: name)
        return Subscription(gate: subscriber.gate, channel: self, publisher: publisher)
    }

    package override func makeRecording(
        by recorder: any EventRecording,
        at site: SubscriptionSite,
        publisher: EventPublisher
    ) -> PendingSubscription {
        let subscriber = RecordingSubscriber<E>(name: name, site: site, publisher: publisher, recorder: recorder)
        return PendingSubscription(subscriber: subscriber, channel: self, publisher: publisher)
    }

    override func publish(moving event: RawEvent, _ stamp: EventStamp, from publisher: EventPublisher) {
        publish(event.move(as: E.self), stamp, from: publisher)
    }

    override func callInline(_ event: RawEvent, at destinations: Destinations, on thread: DeliveryThread) {
        callInline(event.move(as: E.self), at: destinations, on: thread)
    }
}
