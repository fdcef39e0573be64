import DomainEvents

/// A number as a type.
protocol Numeral: Sendable { static var value: Int { get } }

enum Zero: Numeral { static var value: Int { 0 } }

enum Next<Before: Numeral>: Numeral { static var value: Int { Before.value + 1 } }

/// An event with a name for each number: as many names as a test needs.
struct Named<Number: Numeral>: DomainEvent, Codable {
    static var eventName: String { "Named\(Number.value)" }
    let number: Int

    /// Publishes an event of each of so many names, this one first.
    static func publish(_ count: Int, to publisher: EventPublisher) {
        guard count > 0 else { return }
        publisher.publish(Self(number: count))
        Named<Next<Number>>.publish(count - 1, to: publisher)
    }
}
