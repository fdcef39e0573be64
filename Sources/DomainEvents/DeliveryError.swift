/// Why an event could not be sent.
public struct DeliveryError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// An outbox is at its hard limit and nothing may wait for room inside a handler.
        case outboxFull
        /// The only process that wants the event was given up or is shutting down.
        case workerUnavailable
        /// The bridge is shutting down: only what handlers publish still passes.
        ///
        /// Or it has shut down, and no handler of this process subscribes to the event.
        case shuttingDown
        /// Nothing subscribes to the event, here or in another process.
        case nobodySubscribed
        /// Another process could not handle the event: it could not decode it, the event is invalid, or a handler
        /// threw.
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

    /// What there is to say: an object, as this is returned for each event that is passed on, and there is mostly none.
    private final class Report: Sendable {
        let code: Code
        let event: String
        let id: EventID?
        let worker: String?
        let description: String
        let progress: DeliveryProgress?

        init(
            _ code: Code,
            of event: String,
            id: EventID?,
            at worker: String?,
            _ description: String,
            _ progress: DeliveryProgress?
        ) {
            self.code = code
            self.event = event
            self.id = id
            self.worker = worker
            self.description = description
            self.progress = progress
        }
    }

    private let report: Report

    /// The kind of failure.
    public var code: Code { report.code }

    /// The name of the event that could not be sent.
    public var event: String { report.event }

    /// The identity of that event; nil if it was refused before it had one, or while it waited for room.
    public var id: EventID? { report.id }

    /// The process that did not take or could not handle the event; nil if it was this one, or none in particular.
    public var worker: String? { report.worker }

    /// A sentence that names the event, the process, what was found and what was allowed.
    public var description: String { report.description }

    /// How far the event had got when its time was over; nil if no other process was waited for.
    package var progress: DeliveryProgress? { report.progress }

    package init(
        _ code: Code,
        of event: String,
        id: EventID? = nil,
        at worker: String? = nil,
        _ description: String,
        progress: DeliveryProgress? = nil
    ) {
        report = Report(code, of: event, id: id, at: worker, description, progress)
    }

    /// The same, of the event with this identity.
    func identified(by id: EventID) -> DeliveryError {
        self.id == nil ? DeliveryError(code, of: event, id: id, at: worker, description, progress: progress) : self
    }
}
