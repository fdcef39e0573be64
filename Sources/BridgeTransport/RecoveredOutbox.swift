package import BridgeProtocol

/// What the host found in the shared outbox of a worker that has died.
package struct RecoveredOutbox: Sendable, Hashable {
    /// How many events the worker had accepted and the stream had not brought; they were routed like all others, but
    /// for those that it may not publish.
    package var events = 0

    /// Of these, how many it may not publish.
    package var forbidden = 0

    /// How many events that the worker had counted as accepted could not be found.
    package var missing: UInt64 = 0

    /// Whether ``missing`` says how many are gone: not if the damage has hit the worker's count of its events, too.
    package var isMissingKnown = true

    /// Whether the worker died while it wrote an event; that one had not been accepted, and is dropped.
    package var isTorn = false

    /// What is wrong with the memory, in words; nil if it was in order.
    package var damage: String?

    /// Events of ours that had begun in the worker and were not finished, oldest first.
    package var suspects: [Suspect] = []

    package init() {}
}
