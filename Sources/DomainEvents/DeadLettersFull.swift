/// There is no room for another dead letter; a worker that could not handle an event gets no further event until there
/// is room.
///
/// The bridge announces this once for each such worker until there is room again.
public struct DeadLettersFull: DomainEvent, SelfReport {
    /// The worker that gets no events for now.
    public let worker: String

    /// How many letters are kept.
    public let letters: Int

    /// The size of the kept letters in bytes, as the limit counts it.
    public let bytes: Int

    /// Makes the event.
    public init(worker: String, letters: Int, bytes: Int) {
        self.worker = worker
        self.letters = letters
        self.bytes = bytes
    }
}
