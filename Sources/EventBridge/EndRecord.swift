import DomainEvents
import Supervision

/// What is known of how an incarnation comes to its end, and with that whether an event may be to blame.
struct EndRecord {
    /// For what the host ends a process that lives: an event may have led to it, as to a crash.
    struct Fault: Equatable {
        let reason: ExitReason
        /// The event, if it must have been that one; nil for all that were open.
        var suspects: [EventID]?
    }

    private(set) var hasSaidGoodbye = false
    /// Whether the host has asked for the end, or brought it about.
    private(set) var isEndedByHost = false
    private(set) var fault: Fault?

    /// Whether it ended, or is ending, without a goodbye, and for no reason of the host's own.
    var isCrash: Bool { !hasSaidGoodbye && (fault != nil || !isEndedByHost) }

    /// It takes its leave: what it had is done.
    mutating func goodbyeReceived() { hasSaidGoodbye = true }

    /// The host has signalled the process.
    mutating func signalWasSent() { isEndedByHost = true }

    /// The end was asked for: what is found at the same moment comes second.
    mutating func endWasRequested() {
        isEndedByHost = true
        fault = nil
    }

    /// The host has found a fault, for which it is about to end the process.
    ///
    /// - Returns: Whether that is the first thing that is known of its end.
    mutating func faultWasFound(_ found: Fault) -> Bool {
        guard !isEndedByHost, !hasSaidGoodbye, fault == nil else { return false }
        fault = found
        return true
    }
}
