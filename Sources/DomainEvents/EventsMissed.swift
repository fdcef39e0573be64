/// Thrown by a sequence of events whose consumer was so slow that its buffer ran over.
public struct EventsMissed: Error, Sendable, CustomStringConvertible {
    /// The name of the events.
    public let event: String

    /// How many the consumer has missed since the one it got last.
    public let count: Int

    /// How many the buffer holds.
    public let limit: Int

    /// The loss in words.
    public var description: String {
        "\(count) \(event) events were missed: the consumer's buffer holds \(limit)"
    }
}
