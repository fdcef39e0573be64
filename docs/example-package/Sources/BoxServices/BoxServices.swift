import BoxEvents
public import DomainEvents

/// Provides a box for each order, for as long as the subscriptions live.
public func provisionBoxes(on publisher: EventPublisher) -> [Subscription] {
    [publisher.subscribe(to: BoxOrdered.self) { publisher.publish(BoxProvisioned(number: $0.number)) }]
}

/// Puts a label on each box, for as long as the subscriptions live.
public func labelBoxes(on publisher: EventPublisher) -> [Subscription] {
    [
        publisher.subscribe(to: BoxProvisioned.self) {
            publisher.publish(BoxLabelled(number: $0.number, label: "Box No. \($0.number)"))
        }
    ]
}
