package import BridgeProtocol

/// What the host found in the shared outbox of a worker that has died.
package struct RecoveredOutbox: Sendable, Hashable {
    /// How many events the worker had accepted and the stream had not brought; they were routed like all others, except
    /// those that the worker may not publish.
    package var events = 0

    /// How many of ``events`` the worker may not publish.
    package var forbidden = 0

    /// How many events that the worker had counted as accepted could not be found.
    package var missing: UInt64 = 0

    /// Whether ``missing`` is known; false if the worker's count of its events is damaged, too.
    package var isMissingKnown = true

    /// Whether the worker died while it wrote an event; it had not accepted that event, which is dropped.
    package var isTorn = false

    /// What is wrong with the memory, in words; nil if it was in order.
    package var damage: String?

    /// Events of this side that the worker had begun and not finished, oldest first.
    package var suspects: [Suspect] = []

    package init() {}
}
