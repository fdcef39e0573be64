import DomainEvents
import Supervision

/// What is known of how an incarnation ends, which decides whether an event may be to blame.
struct EndRecord {
    /// Why the host ends a live process; as with a crash, an event may be to blame.
    struct Fault: Equatable {
        let reason: ExitReason
        /// The events that may be to blame; nil for all that were open.
        var suspects: [EventID]?
    }

    private(set) var hasSaidGoodbye = false
    /// Whether the host has requested the end, or brought it about.
    private(set) var isEndedByHost = false
    private var isSignalled = false
    /// The signals that callers have sent.
    private var sent: Set<Int32> = []
    private(set) var fault: Fault?

    /// Whether the incarnation ended, or is ending, without an orderly goodbye: by itself, or for a fault that the host
    /// found.
    var isCrash: Bool { !hasSaidGoodbye && (fault != nil || !isEndedByHost) }

    /// The reason for the end of the process, with the limit of its box that the process had reached, if any.
    ///
    /// If the host has signalled the process, or a caller has sent the very signal that killed it, that is reason
    /// enough, and no limit is named.
    func explanation(of reason: ExitReason, in box: WorkerBox?, _ usage: ResourceUsage?) -> ExitReason {
        guard let box, !isSignalled else { return reason }
        if case .signaled(let number, _) = reason, sent.contains(number) { return reason }
        return box.explanation(of: reason, usage)
    }

    /// The worker has said an orderly goodbye: it has finished what it had.
    mutating func goodbyeReceived() { hasSaidGoodbye = true }

    /// The host has signalled the process.
    mutating func signalWasSent() {
        isEndedByHost = true
        isSignalled = true
    }

    /// A caller has sent a signal; an end by it is a crash, as the supervisor has not asked for it.
    mutating func signalWasSent(byRequest signal: SignalNumber) { sent.insert(signal.rawValue) }

    /// The host has requested the end: a fault that was found just before does not count.
    mutating func endWasRequested() {
        isEndedByHost = true
        fault = nil
    }

    /// The host has found a fault, for which it is about to end the process.
    ///
    /// - Returns: Whether the fault counts: it does if nothing was known of the end before.
    mutating func faultWasFound(_ found: Fault) -> Bool {
        guard !isEndedByHost, !hasSaidGoodbye, fault == nil else { return false }
        fault = found
        return true
    }
}
