public import DomainEvents

/// Some piece of work, for tests of workers that misbehave.
public struct WorkRequested: DomainEvent {
    /// Tells the pieces apart.
    public let number: Int64
    /// What to do; tests can bind a misbehaviour to this text.
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
    /// Which delivery of the request was answered: more than 1 if a worker died while it handled the request.
    public let attempt: Int

    /// Makes the event.
    public init(number: Int64, text: String, attempt: Int) {
        self.number = number
        self.text = text
        self.attempt = attempt
    }
}
