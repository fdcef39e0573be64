package import DomainEvents

/// An event that a worker had begun to handle when it died.
package struct Suspect: Sendable, Hashable {
    package let id: EventID
    package let name: String
    /// How often the event was handed to an incarnation of the worker, the last time included.
    package let attempt: Int
    /// Whether the worker's reading thread was in the event's handlers; otherwise the event was with queues or tasks,
    /// where it may still have waited for its turn.
    package let isInline: Bool
}
