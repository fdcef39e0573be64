public import DomainEvents

/// Asks a host to stop a worker, which finishes what it has and stays down until its start or restart is requested.
///
/// The host answers with a ``CommandAnswered`` when the worker is down.
public struct WorkerStopRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of a pool's member.
    public let worker: String

    /// Makes the command.
    public init(worker: String) {
        self.worker = worker
    }
}

/// Asks a host to start a worker that is down, with its failures forgotten; a running worker is left alone.
///
/// The host answers with a ``CommandAnswered`` when the worker is ready, or was stopped or given up instead.
public struct WorkerStartRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of a pool's member.
    public let worker: String

    /// Makes the command.
    public init(worker: String) {
        self.worker = worker
    }
}

/// Asks a host to send a signal to the process of a worker.
///
/// The host answers with a ``CommandAnswered`` when the signal was sent, and does not wait for its effect. If the
/// signal ends the process, that counts as a crash of the worker.
public struct WorkerSignalRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of a pool's member.
    public let worker: String
    /// The number of the signal on the host's system.
    public let signal: Int32

    /// Makes the command.
    public init(worker: String, signal: Int32) {
        self.worker = worker
        self.signal = signal
    }
}

/// Asks a host to start a worker anew, with its failures forgotten; a running worker is stopped first.
///
/// The host answers with a ``CommandAnswered`` when the worker is ready, or was stopped or given up instead.
public struct WorkerRestartRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of a pool's member.
    public let worker: String

    /// Makes the command.
    public init(worker: String) {
        self.worker = worker
    }
}

/// Asks the host's program to stop everything and to end.
///
/// The host itself does nothing about this event: the program that contains it subscribes, as `supervisor run` does.
/// If nothing subscribes, the sender's `deliver` throws `DeliveryError.Code.noSubscriber`. No event answers the
/// command; the end of the link is the answer.
public struct BridgeStopRequested: DomainEvent, SelfReport, Hashable {
    /// Makes the command.
    public init() {}
}

/// A host's answer to a command about a worker: that the command is done, or why it is not.
///
/// Only the sender of the command gets the answer.
public struct CommandAnswered: DomainEvent, SelfReport, Hashable {
    /// Why the command was not done, or has failed, as a sentence; nil if it is done.
    public let refusal: String?
    /// A remark about a command that is done, as a sentence: that the worker ran already, or to which process a signal
    /// went; nil for no remark.
    public let remark: String?

    /// Makes the answer.
    public init(refusal: String? = nil, remark: String? = nil) {
        self.refusal = refusal
        self.remark = remark
    }
}

/// The names of the events of this module, by their senders.
package enum ControlEventNames {
    /// The commands; of all peers of a host, only attached clients may send them.
    package static let commands = EventName.set([
        BridgeStatusRequested.eventName, WorkerStopRequested.eventName, WorkerRestartRequested.eventName,
        WorkerStartRequested.eventName, WorkerSignalRequested.eventName, BridgeStopRequested.eventName,
        DeadLettersRequested.eventName, DeadLetterRequested.eventName, DeadLetterRedeliveryRequested.eventName,
        DeadLetterDiscardRequested.eventName, ConfigurationReloadRequested.eventName,
        WorkerOutputRequested.eventName, EventNamesRequested.eventName, EventsReplayRequested.eventName,
    ])

    /// The events with which the host, or the program that contains it, answers the sender of a command.
    package static let answers = EventName.set([
        BridgeStatusReported.eventName, CommandAnswered.eventName, DeadLettersReported.eventName,
        DeadLetterReported.eventName, DeadLetterSettled.eventName, ConfigurationReloaded.eventName,
        WorkerOutputReported.eventName, EventNamesReported.eventName, EventsReplayed.eventName,
    ])
}
