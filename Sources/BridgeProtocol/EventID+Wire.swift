package import DomainEvents

extension WireID {
    /// The same identity, as a frame in the other direction spells it.
    package var turned: WireID {
        switch self {
        case .sender(let number): .receiver(number: number)
        case .receiver(let number): .sender(number: number)
        case .other: self
        }
    }

    /// The identity that a frame from `sender` to `receiver` spells.
    ///
    /// This function and ``EventID/spelled(from:to:)`` are not initializers, because an initializer takes ownership of
    /// its arguments, with a retain for each.
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
    /// How a frame from `sender` to `receiver` spells the identity; `receiver` is nil until it has said who it is.
    package func spelled(from sender: EventSource, to receiver: EventSource?) -> WireID {
        if source == sender { return .sender(number: number) }
        if let receiver, source == receiver { return .receiver(number: number) }
        return .other(origin: origin, incarnation: incarnation, number: number)
    }
}

extension EventHead {
    /// The identity, causes and trace of the event in a frame from `sender` to `receiver`.
    ///
    /// This is no initializer of the context, because an initializer would copy the head.
    package func context(from sender: EventSource, to receiver: EventSource) -> EventContext {
        let context = EventContext(
            id: id.identity(from: sender, to: receiver),
            nanosecondsSinceEpoch: nanosecondsSinceEpoch.asWritten,
            // Other code adds one to the attempt, so the attempt stays far below the largest number, whatever a peer
            // says.
            attempt: attempt.clamped(to: 1...Int(UInt32.max)),
            cause: cause.map { $0.identity(from: sender, to: receiver) },
            root: root.map { $0.identity(from: sender, to: receiver) },
            // A text that is no trace context is ignored; it is no violation.
            traceparent: traceparent.flatMap { Traceparent($0) },
            settledBelow: settledBelow?.asWritten,
            bookmark: bookmark.map { WorkerBookmark(EventBookmark($0), of: sender.origin) }
        )
        return isReplay ? context.replayed : context
    }
}
