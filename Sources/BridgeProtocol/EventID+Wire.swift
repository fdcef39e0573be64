package import DomainEvents

extension EventID {
    /// The identity that a frame from `sender` to `receiver` spells.
    package init(_ id: WireID, sender: EventSource, receiver: EventSource) {
        switch id {
        case .sender(let number): self.init(source: sender, number: number)
        case .receiver(let number): self.init(source: receiver, number: number)
        case .other(let origin, let incarnation, let number):
            self.init(origin: origin, incarnation: incarnation, number: number)
        }
    }
}

extension WireID {
    /// The same identity in a frame of the other direction.
    package var turned: WireID {
        switch self {
        case .sender(let number): .receiver(number: number)
        case .receiver(let number): .sender(number: number)
        case .other: self
        }
    }

    /// How a frame from `sender` to `receiver` spells an identity; nil for a receiver that has not said who it is.
    package init(_ id: EventID, sender: EventSource, receiver: EventSource?) {
        if id.source == sender {
            self = .sender(number: id.number)
        } else if let receiver, id.source == receiver {
            self = .receiver(number: id.number)
        } else {
            self = .other(origin: id.origin, incarnation: id.incarnation, number: id.number)
        }
    }
}
