package import BridgePlatform
package import BridgeProtocol
package import DomainEvents
import Locks
import Synchronization

/// One connection between a host and one incarnation of a worker or client, with the outbox of the events that leave.
///
/// A link may be made before there is a stream: the events in its outbox leave once it has a stream and the peer is
/// ready. A link ends once. The next incarnation's link can take on what the peer had not settled when the link ended.
///
/// A link has two halves. Writing, in `Link+Writing.swift`, runs on any thread that has something to send.
/// Reading, in `Link+Reading.swift`, runs on a thread of its own. `lock` guards both halves. It is held neither during
/// a system call that can block nor during a call of a sink or a waiter.
package final class Link: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, or belongs to the reading thread (`Link+Reading.swift`).

    /// The peer's name, for messages to people.
    package let peerName: String
    @exclusivity(unchecked) var parties: LinkParties
    let limits: LinkLimits
    let poller: Poller

    let lock: Lock
    /// What was accepted for the peer, and what becomes of it.
    @exclusivity(unchecked) var sending: SendState
    @exclusivity(unchecked) private var received: ReceiveState
    /// What the peer sends, and what becomes of it; each access first notes what the reading thread has handled.
    var receiving: ReceiveState {
        _read {
            received.handled(through: strand.handledThrough)
            yield received
        }
        _modify {
            received.handled(through: strand.handledThrough)
            yield &received
        }
    }
    let role: LinkPhaseMachine.Role

    @exclusivity(unchecked) var stream: (any ByteStream)?
    /// The bytes that were read and not acted upon yet, for a second thread to which the reading is handed.
    @exclusivity(unchecked) var reader: FrameReader?
    @exclusivity(unchecked) var ending = LinkEnding()
    /// Signalled when the peer's process has ended, or this side has closed the link.
    let peerWent: Condition
    /// The memory that the peer shares.
    @exclusivity(unchecked) var peerMemory = PeerMemory()
    /// The page on which a worker shows its host what it is doing; set before the reading thread begins.
    @exclusivity(unchecked) private(set) var sharedHead: OutboxHead?
    /// Where the inline handlers of the peer's events run.
    package let strand = LinkStrand()
    /// The receivers of everything that the link brings.
    @exclusivity(unchecked) var sinks = LinkSinks()

    /// Whether the peer speaks in lines: see `LinesStream`.
    @exclusivity(unchecked) var isInLines = false

    // Writing.
    @exclusivity(unchecked) var writer = WriterState()
    /// Whether the link's timer on the poller is set, and what it watches.
    @exclusivity(unchecked) var watch = LinkWatch()
    /// The batch that is being written, and the messages that are queued for the next batch.
    @exclusivity(unchecked) var batch = WriteBatch()
    /// This side's goodbye.
    @exclusivity(unchecked) var farewell = Farewell()
    /// The times of events; nil unless the link is traced.
    @exclusivity(unchecked) var trace: LinkTrace?
    /// The callers that wait for something here.
    @exclusivity(unchecked) var waiters = LinkWaiters()

    /// When the link last read, and last wrote.
    let times = LinkTimes()

    /// Whether a journal has to hear of events that the peer has settled.
    let mustTellJournal = Atomic<Bool>(false)

    package init(
        peerName: String,
        role: LinkPhaseMachine.Role,
        ownSource: EventSource,
        limits: LinkLimits,
        poller: Poller
    ) {
        self.peerName = peerName
        parties = LinkParties(own: ownSource)
        self.limits = limits
        self.poller = poller
        lock = Lock()
        peerWent = Condition(lock: lock)
        self.role = role
        sending = SendState(own: ownSource, role: role, limits: limits, memory: .pages)
        received = ReceiveState(role: role, limits: limits, now: MonotonicClock.now())
    }

    /// Begins to read and write over `stream`.
    ///
    /// A worker's outbox lies in the stream's memory, if the stream has any.
    ///
    /// - Parameter recoversOutbox: whether to wait after the stream's end until ``peerIsGone()`` is called, and then to
    ///   recover what the peer has left in the stream's memory.
    package func start(
        over stream: any ByteStream,
        control: any LinkControlSink,
        recoversOutbox: Bool = false
    ) throws(SystemError) {
        // If the memory cannot be mapped, the link works all the same: the outbox lies in this process's own memory.
        let isHost = role == .host
        let memory = isHost ? nil : try? stream.memory?.map()
        lock.withLock {
            self.stream = stream
            sinks.control = control
            waiters.forgetDemand()
            // A host writes nothing yet: the worker's first byte shows in which encoding to answer.
            writer.streamCame(peerSpeaksFirst: isHost)
            peerMemory.streamCame(
                events: memoryOfPeer(stream),
                outbox: isHost ? stream.memory?.mapForReading() : nil,
                recoversOutbox: recoversOutbox
            )
            if let memory { sharedHead = sending.share(memory) }
        }
        strand.head = sharedHead
        times.lastRead.store(MonotonicClock.now(), ordering: .relaxed)
        let reader = FrameReader(limit: limits.handshakeFrameBytes)
        lock.withLock { self.reader = reader }
        do {
            try PlatformThread.start(name: "link \(peerName)") { self.read(stream, with: reader) }
        } catch {
            // The link has no stream again, and can be started with another one.
            lock.withLock {
                (self.stream, self.reader, sinks.control) = (nil, nil, nil)
                peerMemory.forget()
            }
            throw error
        }
        if isHost, let shelf = stream.shelf?.soleMapping { lock.withLock { sending.shelve(in: shelf) } }
        pump()
    }

    /// Brings the peer's events, and what the peer says of this side's events, to `sink` from now on.
    ///
    /// Call this before the peer's first event can come: in the handshake at the latest, on the reading thread.
    package func bringEvents(to sink: any LinkEventSink) {
        lock.withLock { sinks.events = sink }
    }

    /// Notes what the peer said of itself in the handshake.
    ///
    /// - Parameter ownSource: the source of this side's events, if the handshake has set it; nil if it was known
    ///   before.
    package func established(
        ownSource: EventSource? = nil,
        peerSource: EventSource,
        ownIncarnation: UInt64,
        peerWindowBytes: UntrustedNumber,
        peerWindowEvents: UntrustedNumber,
        peerFrameBytes: UntrustedNumber,
        peerFeatures: LinkFeatures = []
    ) {
        lock.withLock {
            parties.established(own: ownSource, peer: peerSource, ownIncarnation: ownIncarnation)
            // From now on this side may write: the peer has spoken, or is known although it has not spoken.
            writer.streamTakesMore()
            sending.established(
                parties,
                windowBytes: peerWindowBytes,
                windowEvents: peerWindowEvents,
                frameBytes: peerFrameBytes,
                features: peerFeatures
            )
            batch.peerFrameBytes = peerFrameBytes.clamped(to: 0...LinkLimits.greatestFrameBytes)
        }
        pump()
    }

    /// What was found in the memory that the peer shared; nil unless that memory has been read.
    package var recoveredOutbox: RecoveredOutbox? { lock.withLock { peerMemory.found } }

    /// Whether the stream was read to its end: no acknowledgement comes any more.
    package var wasReadToEnd: Bool { lock.withLock { ending.isReadToEnd } }

    /// Whether the peer can read nothing more that this side says; this side may still read what the peer has sent.
    package var isPeerDeaf: Bool { lock.withLock { ending.isPeerDeaf } }

    /// Whether this side has closed the link: what lies in the peer's memory may then be unread.
    package var wasClosedHere: Bool { lock.withLock { ending.isClosedHere } }

    package var hasEnded: Bool { lock.withLock { ending.hasEnded } }

    package func peerInterestName(of number: UInt64) -> String? { lock.withLock { sending.names.name(of: number) } }

    package var speaksLines: Bool { lock.withLock { isInLines } }

    /// The optional features of this side over the stream on which the link was started.
    package var features: LinkFeatures {
        lock.withLock {
            guard let stream else { return [] }
            var features: LinkFeatures = memoryOfPeer(stream) == nil ? [] : .takesPlacedEvents
            if peerMemory.outbox != nil { features.insert(.readsHeartbeats) }
            return features
        }
    }

    /// The memory in which the peer's events lie; nil if the peer shares none.
    func memoryOfPeer(_ stream: any ByteStream) -> MemoryFile? {
        role == .host ? stream.memory : stream.shelf
    }

    // MARK: - State

    /// This side's number for the name of the event whose inline handlers run; 0 if none run.
    package var nameInHand: UInt64 { strand.nameNow }

    /// Notes the name of the event that is handled next, as a number.
    ///
    /// On the reading thread.
    package func tookInHand(name: UInt64) { strand.arrivedName = name }

    /// For how many nanoseconds the reading thread has waited for the peer; nil while it is busy with what it read.
    package func silence(at now: UInt64) -> UInt64? {
        let last = times.lastRead.load(ordering: .relaxed)
        return last == 0 || now < last ? nil : now - last
    }

    /// How many heartbeats the peer has counted in its memory; nil if this side does not read them there.
    package var countedHeartbeats: UntrustedNumber? { lock.withLock { peerMemory.outbox?.heartbeats } }

    /// When the unfinished frame last made progress, in nanoseconds; nil unless the reading thread waits for the rest
    /// of a frame.
    package var unfinishedFrame: UInt64? {
        let progress = times.frameProgress.load(ordering: .relaxed)
        return progress == 0 || times.lastRead.load(ordering: .relaxed) == 0 ? nil : progress
    }

    /// Whether the peer is the process that offers the events of `source`.
    package func isPeer(_ source: EventSource) -> Bool { lock.withLock { !ending.hasEnded && parties.peer == source } }

    package var awaitedEvents: [EventID] { lock.withLock { sending.awaitedEvents } }

    /// What has become of the link's events so far, and how many unsettled events lie in its outbox.
    package var tally: (tally: LinkTally, waiting: UInt64, waitingBytes: Int) {
        lock.withLock {
            var tally = LinkTally()
            tally.accepted = sending.acceptedEvents
            tally.unwanted = sending.outbox.unwantedEvents
            tally.handled = sending.handledEvents
            tally.unconfirmed = sending.unconfirmed.count
            tally.refused = sending.outbox.refusedEvents
            (tally.dropped, tally.coalesced) = (sending.droppedEvents, sending.coalescedEvents)
            tally.sentBytes = sending.outbox.composedBytes
            tally.settling = sending.settling.histogram
            tally.arrived = receiving.receivedEvents + peerMemory.foundEvents
            tally.arrivedUnwanted = receiving.unwantedEvents
            tally.arrivedRefused = receiving.refusedEvents + receiving.brokenEvents
            // Recovered events count as handled, even refused ones: no peer waits to hear of them.
            tally.arrivedHandled = tally.arrived
                .saturating(minus: UInt64(receiving.openEvents))
                .saturating(minus: receiving.unwantedEvents + receiving.refusedEvents)
            tally.missing = peerMemory.found?.missing ?? 0
            tally.arrivedBytes = receiving.receivedBytes
            return (tally, sending.waitingEvents, sending.keptBytes)
        }
    }
}

extension UInt64 {
    /// The difference, or 0 where it would be negative.
    fileprivate func saturating(minus other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
