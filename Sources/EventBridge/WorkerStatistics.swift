import BridgeTransport
import EventRouting

/// What has become of the events to and from one worker since the bridge was made, over all its starts.
public struct WorkerStatistics: Sendable, Hashable {
    /// The worker's name.
    public let worker: String

    /// From the host to the worker: what was published here or by other workers, and what the worker made of it.
    public let sent: EventCounts

    /// From the worker to the host: what has arrived, and what the host made of it.
    ///
    /// What the worker refused to accept is not known here, and so not counted.
    public let received: EventCounts
}

/// The books of one direction: `offered = accepted + rejected`, and `accepted = handled + unwanted + refused + coalesced + dropped +
/// deadLettered + lost + waiting`.
///
/// Exact when nothing is on its way; while events pass, the terms are read one after the other.
public struct EventCounts: Sendable, Hashable {
    /// Events that were to be sent.
    public let offered: UInt64
    /// Events that were not taken, because the outbox was full, the worker unavailable, or the event too large.
    public let rejected: UInt64
    /// Events whose handlers have all returned; or, for what passes through the host, that lie in the outboxes of all who want them.
    public let handled: UInt64
    /// Events that found no handler.
    public let unwanted: UInt64
    /// Events that could not be decoded, were invalid, or whose handler threw.
    public let refused: UInt64
    /// Events that were left out as a later one took their place, by the policy ``OverflowPolicy/latest(by:)``.
    public let coalesced: UInt64
    /// Events that an overflow policy dropped.
    public let dropped: UInt64
    /// Events that were given up because the worker crashed over them.
    public let deadLettered: UInt64
    /// Events that were accepted and are known to be gone: a worker's memory was damaged when it ended.
    ///
    /// ``EventsLost`` tells of them.
    public let lost: UInt64
    /// Events that are accepted and not settled.
    public let waiting: UInt64
    /// What those take of the outbox, in bytes; 0 for what was received.
    public let waitingBytes: Int
    /// The bytes of all events that have passed, with their frames; an event that was sent twice counts twice.
    public let bytes: UInt64

    /// Events that were taken.
    public var accepted: UInt64 { offered - rejected }

    /// Whether every event is accounted for.
    public var isBalanced: Bool {
        accepted == handled + unwanted + refused + coalesced + dropped + deadLettered + lost + waiting
    }
}

extension WorkerStatistics {
    init(worker: String, _ found: RouteStatistics) {
        self.worker = worker
        let tally = found.tally
        sent = EventCounts(
            offered: found.offered,
            rejected: found.rejected,
            handled: tally.handled,
            unwanted: tally.unwanted,
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
