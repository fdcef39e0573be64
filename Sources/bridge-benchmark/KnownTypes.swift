import DomainEvents

/// Thousands of event types with names of their own, each made from the binary digits of a number.
///
/// The types only have to be known: both ends subscribe to them, and so name them to each other.
enum KnownTypes {
    /// Subscribes to `count` different types, with handlers that are never called.
    static func subscribe(_ count: Int, to publisher: EventPublisher) -> [Subscription] {
        (0..<count).map { type(of: $0, after: End.self).subscribe(publisher) }
    }

    static func name(of number: Int) -> String {
        type(of: number, after: End.self).eventName
    }

    /// The type with the digits of `lower` and, above them, the digits of `number`.
    private static func type(of number: Int, after lower: any BinaryDigits.Type) -> any KnownEventType.Type {
        func next<Lower: BinaryDigits>(_ lower: Lower.Type) -> any KnownEventType.Type {
            if number == 0 { return KnownEvent<Lower>.self }
            let longer: any BinaryDigits.Type = number & 1 == 1 ? One<Lower>.self : Zero<Lower>.self
            return type(of: number >> 1, after: longer)
        }
        return next(lower)
    }
}

/// A number, as a type.
private protocol BinaryDigits: Sendable {
    static var value: Int { get }
    static var length: Int { get }
}

private enum End: BinaryDigits {
    static var value: Int { 0 }
    static var length: Int { 0 }
}

private enum Zero<Lower: BinaryDigits>: BinaryDigits {
    static var value: Int { Lower.value }
    static var length: Int { Lower.length + 1 }
}

private enum One<Lower: BinaryDigits>: BinaryDigits {
    static var value: Int { Lower.value | 1 << Lower.length }
    static var length: Int { Lower.length + 1 }
}

private protocol KnownEventType {
    static var eventName: String { get }

    static func subscribe(_ publisher: EventPublisher) -> Subscription
}

private struct KnownEvent<Digits: BinaryDigits>: DomainEvent, KnownEventType {
    let id: Int64

    static var eventName: String { "KnownEvent\(Digits.value)" }

    static func subscribe(_ publisher: EventPublisher) -> Subscription {
        publisher.subscribe(to: Self.self) { _ in }
    }
}
