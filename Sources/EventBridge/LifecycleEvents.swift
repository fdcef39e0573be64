import BridgePlatform
import BridgeProtocol
import BridgeTransport
public import DomainEvents
public import Supervision

/// A worker has finished its handshake and subscribed to all that its specification names.
public struct WorkerReady: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The worker's process.
    public let pid: Int32
    /// The number of this start: 1 for the first; a failed replacement uses up a number, too.
    public let start: Int
}

/// A worker has given no sign of life for longer than its heartbeat allows, and is being ended for that.
///
/// The host ends the worker by SIGABRT, and a second later by SIGKILL. The worker's ``WorkerExited`` follows.
public struct WorkerUnresponsive: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The worker's process.
    public let pid: Int32
    /// How long the worker has been silent, in milliseconds.
    public let silentMilliseconds: UInt64
    /// The name and id of the event that the worker was handling; nil if it handled none, or the host does not know.
    public let busyWith: String?
}

/// A worker's process has ended, or could not be started.
///
/// The host first handles what the process had sent, and then publishes this event. Until then the worker is
/// `stopping`, and ``WorkerStatus`` says how its process has ended and what the host waits for.
public struct WorkerExited: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The process that has ended; nil if there was none.
    public let pid: Int32?
    /// Why the process has ended, or was not started, as a phrase that follows the name: `killed by SIGKILL (9)`.
    public let reason: String
    /// What follows, such as `backing off (attempt 1)` or `stopped`.
    public let next: String
    /// Whether the host had asked the worker to end.
    public let wasAsked: Bool
    /// What the worker left in its shared outbox; nil if it shared none, or if the link itself saw a broken protocol.
    ///
    /// Without a shared outbox, events that the worker had published and not sent are gone, uncounted; ``EventsLost``
    /// then says so.
    public let outbox: Outbox?
    /// How the process has ended, whatever the reason; nil if there was no process, or if other code of the host's
    /// process has taken its status.
    ///
    /// If the host has ended the worker for a fault, ``reason`` has the fault, and this has the signal.
    public let exit: Exit?
    /// The time and memory that the process had used; nil if that is not known.
    public let usage: ResourceUsage?
    /// The last lines that the worker had printed, with line breaks between them: at most 64 lines and 8 KiB, and at
    /// most the first KiB of each line; nil if it had printed none.
    public let lastOutput: String?

    /// What a worker had left in its shared outbox when it ended.
    public struct Outbox: Sendable, Hashable, Codable {
        /// How many events the worker had published and not sent: the host has delivered them.
        public let delivered: Int
        /// How many published events cannot be read, because of ``damage``; they are lost.
        ///
        /// The number is 0, too, if the damage has hit the count itself; ``EventsLost/count`` is nil then.
        public let lost: UInt64
        /// Whether the worker ended during a `publish`, which never returned: that event is dropped.
        public let isTorn: Bool
        /// What is wrong with the outbox's memory, in words; nil if nothing is wrong.
        public let damage: String?
        /// The ids of events that the worker had begun to handle and not finished, oldest first, 16 at the most.
        public let suspects: [String]
    }
}

extension WorkerExited {
    /// How a worker's process has ended: with a status or by a signal.
    public struct Exit: Sendable, Hashable, Codable {
        /// The status with which the process has exited; nil if it was killed.
        public let status: Int32?
        /// The number of the signal that has killed the process; nil if it has exited.
        public let signal: Int32?
        /// The signal's name, such as `SIGKILL`; nil if it has none.
        public let signalName: String?
        /// Whether the process has left a core.
        public let isCoreDumped: Bool
        /// The limit at which the process ended, or for which the operating system has killed it; nil if none is known.
        public let exceededLimit: ResourceLimit?

        init?(_ reason: ExitReason) {
            var ending = reason
            if case .atLimit(_, _, let inner) = reason { ending = inner }
            switch ending {
            case .exited(let status): (self.status, signal, isCoreDumped) = (status, nil, false)
            case .signaled(let number, let coreDumped): (status, signal, isCoreDumped) = (nil, number, coreDumped)
            default: return nil
            }
            signalName = reason.signalName
            exceededLimit = reason.exceededLimit
        }
    }
}

extension WorkerExited.Outbox {
    private static let maximumSuspects = 16

    init(_ found: RecoveredOutbox) {
        delivered = found.events - found.forbidden
        lost = found.missing
        isTorn = found.isTorn
        damage = found.damage
        suspects = found.suspects.prefix(Self.maximumSuspects).map(\.id.description)
    }
}

/// A worker has ended, and events that it had published are gone, or may be.
///
/// The host publishes this at most once for a start of the worker, before its ``WorkerExited``, and only if events are
/// or may be gone. Events in a worker's shared outbox arrive, unless the outbox is damaged or the worker has broken the
/// protocol. In its own start, a host also publishes this for each worker that was killed with an earlier host, if the
/// worker's outbox beside the journal cannot be read to its end.
public struct EventsLost: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The incarnation of the worker's start, as in the ids of its events.
    public let incarnation: UInt64
    /// How many of the worker's events had arrived, counted from its start; 0 for a worker of an earlier host.
    public let after: UInt64
    /// How many events are gone, as `WorkerStatistics` counts them; nil if the number, perhaps 0, is not known.
    public let count: UInt64?
    /// Why events are gone, as a phrase about the worker: `it ended without a goodbye, and shared no outbox`.
    public let reason: String
}

extension EventsLost {
    init(worker: String, incarnation: UInt64, _ loss: Link.Loss) {
        self.init(
            worker: worker,
            incarnation: incarnation,
            after: loss.arrived,
            count: loss.count,
            reason: loss.reason
        )
    }
}

/// Another process does a worker's work: see ``BridgeHost/replace(_:with:handingOverWithin:)``.
///
/// The old process's ``WorkerExited`` and the new process's ``WorkerReady`` came before.
public struct WorkerReplaced: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The process that did the work before; nil if it had ended by itself before the new process was ready.
    public let oldPID: Int32?
    /// The process that does the work now.
    public let newPID: Int32
}

/// The replacement of a worker has failed.
public struct WorkerNotReplaced: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// Why the worker was not replaced, in words.
    public let reason: String
}

/// A worker stays down, because further starts would be of no use.
public struct WorkerGaveUp: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// Why the worker was given up, in words.
    public let reason: String
    /// The last lines that its last start had printed, as in ``WorkerExited/lastOutput``; nil if it had printed none.
    public let lastOutput: String?
}

/// All workers are being stopped, because a significant one has ended: see `AutomaticShutdown`.
public struct BridgeEnding: DomainEvent, SelfReport {
    /// The significant worker that has ended last; its ``WorkerExited`` or ``WorkerGaveUp`` says how.
    public let worker: String
}

/// A worker has written a line to its standard output or standard error.
public struct WorkerOutput: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// Whether the worker wrote the line to standard error.
    public let isError: Bool
    /// The line without its end; lines longer than 16 KiB come in pieces.
    public let line: String
}

/// A worker has printed more than ``WorkerLimits/output`` lets pass, and the host has left out the rest.
///
/// The host publishes this at most once a second, and at the worker's end. The worker notices nothing: the host reads
/// what it leaves out, too.
public struct WorkerOutputDropped: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// How many lines were left out; each piece of a very long line counts.
    public let lines: Int
    /// How many bytes the left-out lines had, without their ends.
    public let bytes: Int
}

/// A worker has been started in a box with parts missing.
///
/// Either the system lacks them and ``WorkerBox/isBestEffort`` allows that, or the system is Linux before 6.12, where
/// signals get out of a box. The host publishes this for each start of the worker, before its ``WorkerReady``.
public struct WorkerBoxIncomplete: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The worker's process.
    public let pid: Int32
    /// The missing parts, a sentence for each.
    public let missing: [String]
}

/// A worker has ended, and the host has killed processes that it had left behind outside its process group, such as
/// daemons.
///
/// Processes that are still in the group are killed with the worker, without a report. A process outside the group that
/// has also changed its environment is not found.
public struct WorkerLeftBehind: DomainEvent, SelfReport {
    /// The worker's name.
    public let worker: String
    /// The worker's process, which has ended.
    public let pid: Int32
    /// The processes that the worker had left behind.
    public let processes: [Process]

    /// A process that was found and killed.
    public struct Process: Sendable, Hashable, Codable {
        /// The process's number.
        public let pid: Int32
        /// The process's program and arguments, 200 bytes at the most.
        public let command: String
    }

    init(worker: String, pid: Int32, _ found: [MarkedProcesses.Found]) {
        self.worker = worker
        self.pid = pid
        processes = found.map { Process(pid: $0.processIdentifier, command: $0.command) }
    }
}
