import DomainEvents
import Supervision

/// What is known of how an incarnation comes to its end, and so whether an event may be to blame.
struct EndRecord {
    /// Why the host ends a live process: an event may have led to this, as to a crash.
    struct Fault: Equatable {
        let reason: ExitReason
        /// The event, if it must have been this one; nil for all that were open.
        var suspects: [EventID]?
    }

    private(set) var hasSaidGoodbye = false
    /// Whether the host has requested the end, or brought it about.
    private(set) var isEndedByHost = false
    private(set) var fault: Fault?

    /// Whether the incarnation ended, or is ending, without a goodbye, and for no reason of the host's own.
    var isCrash: Bool { !hasSaidGoodbye && (fault != nil || !isEndedByHost) }

    /// The worker takes its leave: what it had is done.
    mutating func goodbyeReceived() { hasSaidGoodbye = true }

    /// The host has signalled the process.
    mutating func signalWasSent() { isEndedByHost = true }

    /// The end was requested: a fault that is found at the same moment comes second.
    mutating func endWasRequested() {
        isEndedByHost = true
        fault = nil
    }

    /// The host has found a fault, for which it is about to end the process.
    ///
    /// - Returns: Whether this is the first thing that is known of its end.
    mutating func faultWasFound(_ found: Fault) -> Bool {
        guard !isEndedByHost, !hasSaidGoodbye, fault == nil else { return false }
        fault = found
        return true
    }
}
