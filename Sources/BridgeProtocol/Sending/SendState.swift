import CBOR
package import DomainEvents

/// What one side of a link has accepted for its peer, and what becomes of it: which events are taken, in which order
/// they leave, how long each is kept, and what the next incarnation of the peer gets.
///
/// A pure machine around the outbox, the queue before it and the gate behind it. Events come in, batches go out, and
/// what the peer acknowledges or refuses is freed. If every policy is `wait`, each event goes into the outbox at once.
/// Otherwise it waits in the queue, and moves on into the outbox when the window lets it out. What lies in the outbox
/// has a link sequence, and sequences have no holes.
package struct SendState: ~Copyable {
    let limits: LinkLimits
    let isHost: Bool
    /// The two processes that write to one another.
    var parties: LinkParties
    /// The numbers by which the peer knows names.
    package internal(set) var names: PeerNames
    /// The largest frame body that the peer takes, in bytes.
    var maximumFrame: Int
    /// Whether the peer keeps the bookmarks of this side's events.
    var writesBookmarks = false

    /// Events and gaps with a link sequence, until the peer has settled them.
    package internal(set) var outbox: Outbox
    /// What waits before the outbox; policies may still drop some of it.
    package internal(set) var queue = OverflowQueue()
    /// Whether events leave.
    ///
    /// On a link with other policies than `wait`, events that wait for other links' outboxes are held in the queue. The
    /// gate then holds only events that have moved to another link since.
    package internal(set) var gate = SendingGate()
    /// Room reserved for events that go into all outboxes or into none, in bytes.
    package internal(set) var reservedBytes = 0
    /// Names of events that are no longer taken; nil as long as the peer is to stay.
    var leftNames: LeftNames?
    /// An event that is larger than the peer takes, so that no event leaves; nil for none.
    var oversized: EventID?
    /// The newest event in the outbox when this side was asked to end; nil until it is asked.
    private var drainMark: UInt64?

    /// How many events were taken for the peer.
    package internal(set) var acceptedEvents: UInt64 = 0
    /// How many accepted events a policy has dropped.
    package internal(set) var droppedEvents: UInt64 = 0
    /// How many accepted events a later event has replaced.
    package internal(set) var coalescedEvents: UInt64 = 0
    /// What was written for a peer that acknowledges nothing.
    package internal(set) var unconfirmed = UnconfirmedEvents()
    /// The events for which the peer owes receipts; in the host only.
    var receipts = AwaitedReceipts()
    /// Whether the peer reads the number of this side's heartbeats in the shared outbox.
    package private(set) var peerReadsHeartbeats = false
    /// How long the peer takes to settle what is written for it; in the host only.
    package internal(set) var settling = SettlingTimer()
    /// The events of a replay in the outbox, until the peer has settled them.
    var replays = SentReplays()
    /// The steps that ``takeSteps()`` has not taken yet; nil while the link is not traced.
    var steps: [Step]?

    /// The buffer in which heads are encoded.
    let headBuffer = CBORBuffer(minimumCapacity: 256)
    /// The sources of the events that this side passes on.
    var sources = SpelledSources()
    var eventsSinceSettledMark = 0

    package init(own: EventSource, role: LinkPhaseMachine.Role, limits: LinkLimits, memory: ChunkMemory) {
        self.limits = limits
        isHost = role == .host
        parties = LinkParties(own: own)
        names = PeerNames(limits: limits)
        // A guest grants larger frames than hosts take as a rule. If an event that its next host does not take were in
        // the outbox when the host comes, no event could leave.
        maximumFrame = isHost ? limits.frameBytes : min(limits.frameBytes, LinkLimits.usualFrameBytes)
        outbox = Outbox(limits: limits, memory: memory)
    }

    // MARK: - The peer

    /// From now on, keeps the outbox in memory that is shared with the host; only before the first event.
    ///
    /// - Returns: The memory's head page; nil if the memory cannot be used.
    package mutating func share(_ memory: any OutboxMemory) -> OutboxHead? { outbox.share(memory) }

    package mutating func shelve(in memory: any OutboxMemory) { outbox.shelve(in: memory) }

    /// The handshake is done: the peer has said what it takes.
    package mutating func established(
        _ parties: LinkParties,
        windowBytes: UntrustedNumber,
        windowEvents: UntrustedNumber,
        frameBytes: UntrustedNumber,
        features: LinkFeatures
    ) {
        self.parties = parties
        // A host's own limit holds for both directions.
        let ownLimit = isHost ? limits.frameBytes : LinkLimits.greatestFrameBytes
        maximumFrame = frameBytes.clamped(to: 0...min(ownLimit, LinkLimits.greatestFrameBytes))
        outbox.grant(
            windowBytes: windowBytes.clamped(to: 0...(1 << 40)),
            // The span of a window must stay far below the largest number.
            windowEvents: windowEvents.clamped(to: 0...(1 << 20))
        )
        // Without acknowledgements nothing says when the peer has read an event's place.
        if features.contains(.takesPlacedEvents), !features.contains(.acknowledgesNothing) { outbox.beginPlacing() }
        unconfirmed.isEverything = features.contains(.acknowledgesNothing)
        peerReadsHeartbeats = features.contains(.readsHeartbeats)
        writesBookmarks = !isHost && features.contains(.bookmarks)
    }

    /// The peer says which events it wants, and by which numbers it knows them.
    package mutating func peerWants(_ interest: Interest) throws(LinkViolation) { try names.apply(interest) }

    /// Takes no more events of these names: the peer is about to go, and other processes have taken its place.
    package mutating func takeNoMore(of names: LeftNames) { leftNames = names }

    /// This side is about to end: it is quiet once the events that lie in the outbox now are settled.
    ///
    /// The outbox must lie in memory that outlives this process. Threads that go on publishing do not delay the end.
    package mutating func drain() { drainMark = outbox.lastSequence }

    // MARK: - What is kept

    /// Charged bytes of all that is kept.
    package var keptBytes: Int { outbox.chargedBytes + queue.chargedBytes }

    /// How many events and gaps are kept.
    package var keptEvents: Int { outbox.count + queue.count }

    package var isEmpty: Bool { outbox.isEmpty && queue.isEmpty }

    /// How many unsettled events are kept.
    package var waitingEvents: UInt64 { outbox.unsettledEvents + UInt64(queue.events) }

    /// Whether so much waits for the peer's handlers that other processes have to keep their events for it.
    ///
    /// Handled events do not count. Handlers never wait for room, so a crowded peer recovers, however full others are.
    package var isCrowded: Bool { outbox.unhandledBytes + queue.chargedBytes >= limits.outboxBytes }

    /// Whether the events may wait for any length of time, while this process keeps them even if the peer dies.
    ///
    /// No acknowledgement by this side then waits for them (its `after` is 0). This also holds in a host until the
    /// worker is ready: before that, the worker may wait for acknowledgements of its own events.
    package var holdsBack: Bool { gate.holdsBack || (isHost && !gate.isReleased) }

    /// Whether the peer has nothing left to settle; while the gate is paused, only events that have left count, and
    /// after ``drain()``, only what lay in the outbox at that call.
    package var isSettled: Bool {
        if let drainMark, outbox.firstSequence > drainMark { return true }
        return isEmpty || (gate.isPaused && outbox.hasNothingInFlight)
    }

    /// How many events the peer has acknowledged as handled.
    package var handledEvents: UInt64 {
        // The peer's own count of events without a handler may be too high.
        let others = outbox.unwantedEvents + unconfirmed.count
        return outbox.acknowledgedEvents > others ? outbox.acknowledgedEvents - others : 0
    }

    /// The sequences that were handed out for writing and are still kept; nil for none.
    package var sentSequences: ClosedRange<UInt64>? {
        outbox.firstSequence <= outbox.lastComposed ? outbox.firstSequence...outbox.lastComposed : nil
    }

    // MARK: - Tracing

    /// A step of an event's way, for a link that is traced.
    package enum Step: Sendable {
        /// The event waits before the outbox.
        case waits(EventID)
        /// A policy has taken the event out of the queue.
        case dropped(EventID)
        /// The event lies in the outbox.
        case appended(sequence: UInt64, name: String, EventContext, attempt: Int)
    }

    /// Begins to note the steps of events, or ceases to.
    package mutating func setTraced(_ isTraced: Bool) { steps = isTraced ? [] : nil }

    /// Takes the steps that were noted since the last call.
    package mutating func takeSteps() -> [Step] {
        guard let taken = steps else { return [] }
        steps = []
        return taken
    }

    /// Notes a step if the link is traced, and if the event is not one of the trace itself.
    mutating func note(_ name: String, _ step: @autoclosure () -> Step) {
        if steps != nil, name != EventsTraced.eventName { steps?.append(step()) }
    }
}
