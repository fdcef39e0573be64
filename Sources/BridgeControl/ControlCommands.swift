public import DomainEvents

/// A worker is to finish what it has and to stay down until somebody asks for its restart.
///
/// The host answers with a ``CommandAnswered`` when the worker is down.
public struct WorkerStopRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of one of its members.
    public let worker: String

    /// Makes the command.
    public init(worker: String) {
        self.worker = worker
    }
}

/// A worker is to be started anew, with its failures forgotten; one that runs is stopped first.
///
/// The host answers with a ``CommandAnswered`` when the worker is ready, or has come to rest without.
public struct WorkerRestartRequested: DomainEvent, SelfReport, Hashable {
    /// The name of a worker, of a pool, or of one of its members.
    public let worker: String

    /// Makes the command.
    public init(worker: String) {
        self.worker = worker
    }
}

/// The program that has the host is to stop everything and to end.
///
/// The host itself does nothing about it: the program that it is a part of subscribes to it, as `supervisor run` does. Where nobody
/// subscribes, whoever asks with `deliver` is told so. Nobody answers it; the end of the link is the answer.
public struct BridgeStopRequested: DomainEvent, SelfReport, Hashable {
    /// Makes the command.
    public init() {}
}

/// The answer of a host to a command about a worker: done, or not and why.
///
/// Only the one who has asked gets it.
public struct CommandAnswered: DomainEvent, SelfReport, Hashable {
    /// Why the command was not done, or has failed, as a sentence; nil if it is done.
    public let refusal: String?

    /// Makes the answer.
    public init(refusal: String? = nil) {
        self.refusal = refusal
    }
}

/// The names of the events of this module, by who sends them.
package enum ControlEventNames {
    /// From whoever is attached to the host, and from nobody else.
    package static let commands = EventName.set([
        BridgeStatusRequested.eventName, WorkerStopRequested.eventName, WorkerRestartRequested.eventName,
        BridgeStopRequested.eventName,
    ])

    /// From the host, to whoever has asked.
    package static let answers = EventName.set([BridgeStatusReported.eventName, CommandAnswered.eventName])
}
