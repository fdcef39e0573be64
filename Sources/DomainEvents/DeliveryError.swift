/// Why an event could not be sent.
public struct DeliveryError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// An outbox is at its hard limit and nothing may wait for room inside a handler.
        case outboxFull
        /// The only process that wants the event was given up or is shutting down.
        case workerUnavailable
        /// The bridge is shutting down: only what handlers publish still passes.
        case shuttingDown
        /// Nobody, here or in another process, subscribes to the event.
        case nobodySubscribed
        /// Another process could not handle the event: it could not decode it, the event is invalid, or a handler threw.
        case refused
        /// The event was given up: too often a process died of it.
        case deadLettered
        /// Handlers were not done, or no answer came, within the time given.
        case timedOut
        /// Inside a transaction nothing can be waited for: what it holds is published when it has ended.
        case insideTransaction
        /// The event could not be encoded.
        case notEncodable
        /// The event is larger than a frame may be.
        case eventTooLarge
    }

    /// The kind of failure.
    public let code: Code

    /// A sentence that names the event, the link, what was found and what was allowed.
    public let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
