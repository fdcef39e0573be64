/// There is no room for another dead letter; a process that could not handle an event gets no further event until there
/// is room.
///
/// The bridge announces this once for each such process until there is room again.
public struct DeadLettersFull: DomainEvent, SelfReport {
    /// The worker that gets no events for now.
    public let worker: String

    /// How many letters are kept.
    public let letters: Int

    /// How many bytes the kept letters are charged.
    public let bytes: Int

    /// Makes the event.
    public init(worker: String, letters: Int, bytes: Int) {
        self.worker = worker
        self.letters = letters
        self.bytes = bytes
    }
}
