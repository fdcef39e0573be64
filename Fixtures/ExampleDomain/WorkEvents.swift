public import DomainEvents

/// Some piece of work, for tests of workers that misbehave.
public struct WorkRequested: DomainEvent {
    /// Tells the pieces apart.
    public let number: Int64
    /// What to do: misbehaviour can be bound to it.
    public let text: String

    /// Makes the event.
    public init(number: Int64, text: String) {
        self.number = number
        self.text = text
    }
}

/// A piece of work was done.
public struct WorkDone: DomainEvent {
    /// The piece's number.
    public let number: Int64
    /// The piece's text.
    public let text: String
    /// Which delivery of the request was answered: more than 1 after a worker died over it.
    public let attempt: Int

    /// Makes the event.
    public init(number: Int64, text: String, attempt: Int) {
        self.number = number
        self.text = text
        self.attempt = attempt
    }
}
