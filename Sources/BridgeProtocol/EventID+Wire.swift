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
    /// Neither this nor its reverse is an initializer: an initializer takes ownership of what it is given, at a retain
    /// for each.
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

extension EventHead {
    /// The number of an event of the sender's own that nothing has caused, as most are; nil for any other.
    package var plainNumber: UInt64? {
        guard case .sender(let number) = id, attempt == 1, cause == nil, root == nil, traceparent == nil else {
            return nil
        }
        return number
    }

    /// What is known of the event of a ``plainNumber``.
    package func plainContext(_ number: UInt64, from sender: consuming EventSource) -> EventContext {
        EventContext(
            id: EventID(source: sender, number: number),
            nanosecondsSinceEpoch: nanosecondsSinceEpoch.asWritten,
            settledBelow: settledBelow?.asWritten
        )
    }

    /// The identity, causes and trace of the event in a frame from `sender` to `receiver`.
    ///
    /// Not an initializer of the context, which would take a copy of the head.
    package func context(from sender: EventSource, to receiver: EventSource) -> EventContext {
        EventContext(
            id: id.identity(from: sender, to: receiver),
            nanosecondsSinceEpoch: nanosecondsSinceEpoch.asWritten,
            // Other code adds one now and then: the attempt stays far from the end of the numbers, whatever a peer
            // says.
            attempt: attempt.clamped(to: 1...Int(UInt32.max)),
            cause: cause.map { $0.identity(from: sender, to: receiver) },
            root: root.map { $0.identity(from: sender, to: receiver) },
            // A text that is no trace context is to be ignored, not answered for.
            traceparent: traceparent.flatMap { Traceparent($0) },
            settledBelow: settledBelow?.asWritten
        )
    }
}
