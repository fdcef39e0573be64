/// No more dead letters can be kept: no further event is sent to a process that could not handle one, until there is
/// room again.
///
/// Announced once for each such process, and again after there was room.
public struct DeadLettersFull: DomainEvent, SelfReport {
    /// The worker that gets nothing for now.
    public let worker: String

    /// How many letters are kept.
    public let letters: Int

    /// How many bytes they are charged.
    public let bytes: Int

    /// Makes the event.
    public init(worker: String, letters: Int, bytes: Int) {
        self.worker = worker
        self.letters = letters
        self.bytes = bytes
    }
}
