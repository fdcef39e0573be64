package import DomainEvents

extension WireID {
    /// The same identity in a frame of the other direction.
    package var turned: WireID {
        switch self {
        case .sender(let number): .receiver(number: number)
        case .receiver(let number): .sender(number: number)
        case .other: self
        }
    }

    /// The identity that a frame from `sender` to `receiver` spells.
    ///
    /// Not an initializer, and neither is its reverse: one takes over what it is given, at a retain for each.
    package func identity(from sender: EventSource, to receiver: EventSource) -> EventID {
        switch self {
        case .sender(let number): EventID(source: sender, number: number)
        case .receiver(let number): EventID(source: receiver, number: number)
        case .other(let origin, let incarnation, let number):
            EventID(origin: origin, incarnation: incarnation, number: number)
        }
    }
}

extension EventID {
    /// How a frame from `sender` to `receiver` spells an identity; nil for a receiver that has not said who it is.
    package func spelled(from sender: EventSource, to receiver: EventSource?) -> WireID {
        if source == sender { return .sender(number: number) }
        if let receiver, source == receiver { return .receiver(number: number) }
        return .other(origin: origin, incarnation: incarnation, number: number)
    }
}
