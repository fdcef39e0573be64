package import DomainEvents

/// An event that a worker was sent and has not settled: the worker may have died of it, or may hang in it.
package struct Suspect: Sendable, Hashable {
    package let id: EventID
    package let name: String
    /// How often the event was handed to an incarnation of the worker, the last time included.
    package let attempt: Int
}
