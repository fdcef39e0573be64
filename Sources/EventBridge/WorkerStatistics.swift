import BridgeTransport
public import DomainEvents
import EventRouting

/// What has become of the events to and from one worker since the bridge was made, over all its starts.
public struct WorkerStatistics: Sendable, Hashable {
    /// The worker's name.
    public let worker: String

    /// The events from the host to the worker: those that the host, other workers or clients have published.
    public let sent: EventCounts

    /// The events from the worker to the host: those that have arrived or are known to be lost.
    ///
    /// The host does not know, and so does not count, events that the worker itself refused to accept.
    public let received: EventCounts

    /// How long the worker takes to settle an event.
    ///
    /// The time runs from the moment at which the event leaves for the worker, until the host reads that the event was
    /// handled or refused. This time is longer than the handlers' own time: it includes the way there and back, the
    /// waiting in the worker behind other events, and up to 2 ms in which an acknowledgement waits to go out together
    /// with another frame. It does not include the waiting in the outbox.
    ///
    /// The times are a sample. The host times one event at a time, until the event is settled: in a flood it times only
    /// some of the events. If the worker dies before it settles the timed event, that time does not count. A worker
    /// that acknowledges nothing has no times.
    public let settling: DurationHistogram

    /// How often the worker has broken the protocol or a limit of its link; `WorkerExited.reason` says how.
    public let violations: UInt64
}

/// The counts of one direction: `offered = accepted + rejected`, and
/// `accepted = handled + unwanted + unconfirmed + refused + coalesced + dropped + deadLettered + lost + waiting`.
///
/// The counts are exact when nothing is on its way. While events pass, they are read in turn and may not add up.
public struct EventCounts: Sendable, Hashable {
    /// Events that were to be sent.
    public let offered: UInt64
    /// Events that were not taken, because the outbox was full, the worker unavailable, or the event too large.
    public let rejected: UInt64
    /// Events whose handlers have all returned; an event that passes through the host counts once it lies in the
    /// outboxes of all peers that want it.
    public let handled: UInt64
    /// Events that found no handler.
    public let unwanted: UInt64
    /// Events that were sent to a worker that acknowledges nothing: the host does not know what became of them.
    public let unconfirmed: UInt64
    /// Events that could not be decoded, were invalid or forbidden, broke the protocol, or whose handler threw.
    public let refused: UInt64
    /// Events that were left out because a later one took their place, by the policy `OverflowPolicy.latest(by:)`.
    public let coalesced: UInt64
    /// Events that an overflow policy dropped.
    public let dropped: UInt64
    /// Events that were given up because the worker crashed over them, or was removed.
    public let deadLettered: UInt64
    /// Events that were accepted and are known to be gone, because a worker's memory was damaged when it ended.
    ///
    /// ``EventsLost`` reports them.
    public let lost: UInt64
    /// Events that are accepted and not settled.
    public let waiting: UInt64
    /// How many bytes of the outbox the waiting events take; 0 for received events.
    public let waitingBytes: Int
    /// The bytes of all events that have passed, with their frames; an event that was sent twice counts twice.
    public let bytes: UInt64

    /// Events that were taken.
    public var accepted: UInt64 { offered - rejected }

    /// Whether every event is accounted for.
    public var isBalanced: Bool {
        accepted == handled + unwanted + unconfirmed + refused + coalesced + dropped + deadLettered + lost + waiting
    }
}

extension WorkerStatistics {
    init(worker: String, _ found: PeerStatistics) {
        self.worker = worker
        violations = found.violations
        let tally = found.tally
        settling = tally.settling
        sent = EventCounts(
            offered: found.offered,
            rejected: found.rejected,
            handled: tally.handled,
            unwanted: tally.unwanted,
            unconfirmed: tally.unconfirmed,
            refused: tally.refused,
            coalesced: tally.coalesced,
            dropped: tally.dropped,
            deadLettered: found.deadLettered,
            lost: 0,
            waiting: found.waiting,
            waitingBytes: found.waitingBytes,
            bytes: tally.sentBytes
        )
        let settled = tally.arrivedHandled + tally.arrivedUnwanted + tally.arrivedRefused
        received = EventCounts(
            offered: tally.arrived + tally.missing,
            rejected: 0,
            handled: tally.arrivedHandled,
            unwanted: tally.arrivedUnwanted,
            unconfirmed: 0,
            refused: tally.arrivedRefused,
            coalesced: 0,
            dropped: 0,
            deadLettered: 0,
            lost: tally.missing,
            waiting: tally.arrived - min(tally.arrived, settled),
            waitingBytes: 0,
            bytes: tally.arrivedBytes
        )
    }
}

extension BridgeHost {
    /// What has become of the events to and from each worker, in the order of the specifications.
    public var statistics: [WorkerStatistics] { core.statistics }
}
