/// Why an event could not be sent, or was not handled.
public struct DeliveryError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable {
        /// An outbox has no room and the call must not wait (as in a handler), a policy dropped the event, or too many
        /// event names are in use.
        case outboxFull
        /// A process that should get the event is given up, stopped, ending or gone, or its bridge ends meanwhile.
        case workerUnavailable
        /// The bridge is shutting down: from its own process it takes only events with a cause, such as those of
        /// handlers.
        ///
        /// Or the bridge has shut down, and nothing in this process subscribes to the event.
        case shuttingDown
        /// Nothing that the call would wait for subscribes to the event, in this process or another.
        case noSubscriber
        /// Another process could not decode the event, found it invalid or forbidden, or had a handler that threw.
        case refused
        /// The event was given up: a process crashed over it too often.
        case deadLettered
        /// The handlers did not return, or no answer came, within the time given.
        case timedOut
        /// A caller inside a transaction cannot wait: the transaction publishes its events only when it has ended.
        case insideTransaction
        /// The event, its name, its identity or its bookmark could not be encoded.
        case notEncodable
        /// The event is larger than a frame may be.
        case eventTooLarge
        /// An untyped event has a name that belongs to a Swift type of the publisher or of the bridge.
        case nameHasType
        /// The event comes from another machine, and this process may not import events.
        case mayNotImport
    }

    /// An error's content, as an object: calls that pass on an event return an optional error, which should be small.
    private final class Report: Sendable {
        let code: Code
        let event: String
        let id: EventID?
        let worker: String?
        let field: String?
        let description: String
        let progress: DeliveryProgress?

        init(
            _ code: Code,
            of event: String,
            id: EventID?,
            at worker: String?,
            _ description: String,
            _ field: String?,
            _ progress: DeliveryProgress?
        ) {
            self.code = code
            self.event = event
            self.id = id
            self.worker = worker
            self.field = field
            self.description = description
            self.progress = progress
        }
    }

    private let report: Report

    /// The kind of failure.
    public var code: Code { report.code }

    /// The name of the event.
    public var event: String { report.event }

    /// The event's identity, even if the event was not published; nil if only the call, name or bookmark was at fault.
    public var id: EventID? { report.id }

    /// The process that could not take or handle the event; nil for this process, or if no single process failed.
    public var worker: String? { report.worker }

    /// The path of the field that could not be encoded or decoded, such as `items[3].title`.
    ///
    /// Nil if the failure is about no field in particular, or if a type's own code refused the value. For an event that
    /// another process has refused, the field is read from the refusal's sentence; a worker in another language may
    /// word that sentence differently.
    public var field: String? { report.field }

    /// A sentence that names the event and the process at fault, if there is one, and says what went wrong.
    public var description: String { report.description }

    /// How far the event had got when the caller's time was over; nil if the error does not say.
    package var progress: DeliveryProgress? { report.progress }

    package init(
        _ code: Code,
        of event: String,
        id: EventID? = nil,
        at worker: String? = nil,
        _ description: String,
        field: String? = nil,
        progress: DeliveryProgress? = nil
    ) {
        report = Report(code, of: event, id: id, at: worker, description, field, progress)
    }

    /// The same error, with how far the event had got.
    func having(_ progress: DeliveryProgress) -> DeliveryError {
        DeliveryError(code, of: event, id: id, at: worker, description, field: field, progress: progress)
    }

    /// The same error with this identity; an error that already has an identity keeps it.
    package func identified(by id: EventID) -> DeliveryError {
        guard self.id == nil else { return self }
        return DeliveryError(code, of: event, id: id, at: worker, description, field: field, progress: progress)
    }
}
