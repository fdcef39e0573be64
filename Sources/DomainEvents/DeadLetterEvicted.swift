/// The bridge has thrown away the oldest dead letter, and with it the event, to make room for another, as configured.
public struct DeadLetterEvicted: DomainEvent, SelfReport {
    /// The name of the event.
    public let event: String

    /// The identity of the event, as ``EventID/description`` spells it.
    public let id: String

    /// The process that the event was for.
    public let worker: String

    /// The number of the dead letter.
    public let letter: UInt64

    /// Makes the event.
    public init(event: String, id: String, worker: String, letter: UInt64) {
        self.event = event
        self.id = id
        self.worker = worker
        self.letter = letter
    }
}
