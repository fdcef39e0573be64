package import BridgePlatform
package import BridgeProtocol
import CBOR
package import DomainEvents
import Locks
import Synchronization

/// One connection between the host and one incarnation of a worker: the outbox on the way out, frames on the way in.
///
/// A link may be made before there is a stream: what is put into its outbox then leaves once it is attached. It ends once, and
/// what the peer had not acknowledged by then can be taken over by the next incarnation's link.
///
/// Two halves: writing, here and in `Link+Writing.swift`, on whatever thread has something to say; and reading, in
/// `Link+Reading.swift`, on a thread of its own. `lock` guards all of it and is held neither during a system call nor a call out.
package final class Link: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, or belongs to the reading thread (`Link+Reading.swift`).

    /// The peer's name, for messages to people.
    package let peerName: String
    @exclusivity(unchecked) var parties: LinkParties
    let limits: LinkLimits
    let poller: Poller

    let lock: Lock
    @exclusivity(unchecked) var outbox: Outbox
    /// What waits before the outbox: see `Link+Overflow.swift`.
    @exclusivity(unchecked) var queue = OverflowQueue()
    /// Room for events that go into all outboxes or into none.
    @exclusivity(unchecked) var reservedBytes = 0
    /// What the peer sends, and what becomes of it.
    @exclusivity(unchecked) var receiving: ReceiveState
    let role: LinkPhaseMachine.Role
    @exclusivity(unchecked) var peerInterest: InterestTable
    @exclusivity(unchecked) var maximumPeerFrame: Int

    @exclusivity(unchecked) var stream: (any ByteStream)?
    /// For a further thread that takes over the reading.
    @exclusivity(unchecked) var reader: FrameReader?
    @exclusivity(unchecked) var ending = LinkEnding()
    /// Told when the peer's process has ended, or this side has closed the link.
    let peerWent: Condition
    /// Whether the stream's memory holds the peer's outbox, to be read after its death.
    @exclusivity(unchecked) private(set) var takesOver = false
    /// What was found in the peer's memory, once it has been read.
    @exclusivity(unchecked) var found: TakeOver?
    /// The page on which this side notes for its host what it is at; set before the reading thread begins.
    @exclusivity(unchecked) private(set) var sharedHead: OutboxHead?
    /// Takes large events out of the memory that the peer shares; nil if it shares none.
    ///
    /// Set before the reading thread begins.
    @exclusivity(unchecked) private(set) var copies: FrameCopies?
    /// What a worker says in its shared memory that it has accepted; nil in a worker, and of one that shares none.
    ///
    /// Set before the reading thread begins.
    @exclusivity(unchecked) private(set) var peerOutbox: OutboxProgress?
    /// Where the inline handlers of the peer's events run.
    let inlineLane = LinkLane()
    @exclusivity(unchecked) weak var delegate: (any LinkDelegate)?

    /// Whether the peer speaks in lines: see `Link+Lines.swift`.
    @exclusivity(unchecked) var isInLines = false
    /// Whether what is written for the peer counts as settled with that: see `Link+Unconfirmed.swift`.
    @exclusivity(unchecked) var acknowledgesNothing = false
    @exclusivity(unchecked) var unconfirmedEvents: UInt64 = 0
    /// Of these, what somebody waits to hear of and has not been told.
    @exclusivity(unchecked) var unconfirmedAwaited: [EventID] = []

    // Writing.
    @exclusivity(unchecked) var writer = WriterState()
    /// Which events leave.
    ///
    /// Where policies act on events the queue holds those that wait for other links' outboxes, and this only those that
    /// were moved to another link meanwhile.
    @exclusivity(unchecked) var gate = SendingGate()
    /// Whether the link is looked after in a moment: see `Link+Ticking.swift`.
    @exclusivity(unchecked) var isTickSet = false
    /// The event that was in its handlers at the last look.
    @exclusivity(unchecked) var watched: UInt64 = 0
    /// What is being written, and what is queued for the next write beside events.
    @exclusivity(unchecked) var batch = WriteBatch()
    /// What this side says last.
    @exclusivity(unchecked) var farewell = Farewell()
    /// What lay in the outbox when this side was asked to end: see `Link+Waiting.swift`.
    @exclusivity(unchecked) var drainMark: UInt64?
    let headBuffer = CBORBuffer(minimumCapacity: 256)
    @exclusivity(unchecked) var eventsSinceSettledMark = 0
    /// The peer's numbers of names that this process knows by numbers of its own; 0 is nobody's.
    @exclusivity(unchecked) var peerNumbers = Array(
        repeating: (own: UInt64(0), peer: UInt64(0)),
        count: Link.knownNumbers
    )

    /// How many events were taken for the peer.
    @exclusivity(unchecked) var acceptedEvents: UInt64 = 0
    /// Events that are not taken any more; nil as long as the peer is to stay.
    @exclusivity(unchecked) var leftNames: LeftNames?

    /// How long the peer takes to settle what is written for it; in the host only: see `Link+Timing.swift`.
    @exclusivity(unchecked) var settling = SettlingTimer()
    /// Nil unless somebody wants to know how events get on.
    @exclusivity(unchecked) var trace: LinkTrace?

    /// What the policies have done.
    @exclusivity(unchecked) var overflowTally: (dropped: UInt64, coalesced: UInt64) = (0, 0)
    /// Those who wait for something here.
    @exclusivity(unchecked) var waiters = LinkWaiters()

    /// When the reading thread last read something, on the monotonic clock; 0 while it is busy with what it read.
    let lastRead = Atomic<UInt64>(0)

    /// When the frame of which a part has arrived last made progress, on the monotonic clock; 0 if there is none.
    let frameProgress = Atomic<UInt64>(0)

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
        outbox = Outbox(limits: limits, memory: .pages)
        self.role = role
        receiving = ReceiveState(role: role, limits: limits, now: MonotonicClock.now())
        peerInterest = InterestTable(limits: limits)
        maximumPeerFrame = limits.frameBytes
    }

    /// Begins to read and write over `stream`.
    ///
    /// A worker's outbox lies in the stream's memory, if that has any.
    ///
    /// - Parameter takesOver: whether to wait after the stream's end until ``peerIsGone()`` is called, and to take over then what
    ///   the peer has left in the stream's memory.
    package func attach(
        _ stream: any ByteStream,
        delegate: any LinkDelegate,
        takesOver: Bool = false
    ) throws(SystemError) {
        // Memory that cannot be mapped is no reason not to work: the outbox is this process's own then.
        let isHost = role == .host
        let memory = isHost ? nil : try? stream.memory?.map()
        lock.withLock {
            self.stream = stream
            self.delegate = delegate
            self.takesOver = takesOver
            waiters.forgetDemand()
            // In which encoding a worker is answered shows in its first byte.
            writer.streamCame(peerSpeaksFirst: isHost)
            let mapping = isHost ? stream.memory?.mapForReading() : nil
            copies = peerMemory(of: stream).map { FrameCopies($0, mapping: mapping) }
            peerOutbox = mapping.flatMap(OutboxProgress.init)
            if let memory { sharedHead = outbox.share(memory) }
        }
        inlineLane.head = sharedHead
        lastRead.store(MonotonicClock.now(), ordering: .relaxed)
        let reader = FrameReader(limit: limits.handshakeFrameBytes)
        lock.withLock { self.reader = reader }
        do {
            try PlatformThread.start(name: "link \(peerName)") { self.read(stream, with: reader) }
        } catch {
            // As before: the next peer may have better luck.
            lock.withLock { (self.stream, self.reader, self.delegate, copies, peerOutbox) = (nil, nil, nil, nil, nil) }
            throw error
        }
        if isHost, let shelf = stream.shelf?.soleMapping { lock.withLock { outbox.shelve(in: shelf) } }
        pump()
    }

    /// Nothing is read any more of what the peer has shared.
    ///
    /// On the reading thread, with the lock held.
    func forgetPeerMemory() { (copies, peerOutbox) = (nil, nil) }

    /// Takes over what the peer said of itself in the handshake.
    ///
    /// - Parameter ownSource: who offers this side's events, where only the handshake says so.
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
            // It has spoken, or is known without that.
            writer.streamTakesMore()
            // A frame's length has 32 bits, whatever the peer says that it takes. What a host is told to limit holds both ways.
            let ownLimit = role == .host ? limits.frameBytes : 1 << 30
            maximumPeerFrame = peerFrameBytes.clamped(to: 0...min(ownLimit, 1 << 30))
            outbox.grant(
                windowBytes: peerWindowBytes.clamped(to: 0...(1 << 40)),
                // The span of a window must stay far from the end of the numbers.
                windowEvents: peerWindowEvents.clamped(to: 0...(1 << 20))
            )
            if peerFeatures.contains(.takesPlacedEvents) { outbox.beginPlacing() }
            acknowledgesNothing = peerFeatures.contains(.acknowledgesNothing)
        }
        pump()
    }

    /// Lets events leave from now on: the peer has said what it wants.
    package func releaseEvents() {
        lock.withLock { gate.peerIsReady() }
        pump()
    }

    /// What the peer has left in the memory that it shared; nil before the link's end, and if there was none.
    package var takenOver: TakeOver? { lock.withLock { found } }

    /// Whether nothing more comes over the stream: nobody waits for acknowledgements.
    package var wasReadToEnd: Bool { lock.withLock { ending.isReadToEnd } }

    /// Whether the link has ended.
    package var hasEnded: Bool { lock.withLock { ending.hasEnded } }

    /// The name that the peer gave one of its numbers.
    package func peerInterestName(of number: UInt64) -> String? { lock.withLock { peerInterest.name(of: number) } }

    // MARK: - State

    /// The number, of those that this side gives to names, of the event whose inline handlers run; 0 if none do.
    package var nameInHand: UInt64 { inlineLane.nameNow }

    /// Notes whose event is handled next, by the number of its name.
    ///
    /// On the reading thread.
    package func tookInHand(name: UInt64) { inlineLane.arrivedName = name }

    /// Where the inline handlers of the peer's events are to run.
    package var lane: any InlineLane { inlineLane }

    /// How long the reading thread has waited for the peer, in nanoseconds; nil while it is busy with what it read.
    package func silence(at now: UInt64) -> UInt64? {
        let last = lastRead.load(ordering: .relaxed)
        return last == 0 || now < last ? nil : now - last
    }

    /// When the unfinished frame for whose rest the reading thread waits last made progress, in nanoseconds; nil if there is none.
    package var unfinishedFrame: UInt64? {
        let progress = frameProgress.load(ordering: .relaxed)
        return progress == 0 || lastRead.load(ordering: .relaxed) == 0 ? nil : progress
    }

    /// Whether this is the process that offers the events of `source`.
    package func isPeer(_ source: EventSource) -> Bool { lock.withLock { !ending.hasEnded && parties.peer == source } }

    /// The events of which somebody waits to hear from the peer, and which it has not settled.
    package var awaitedEvents: [EventID] {
        lock.withLock {
            var found: [EventID] = []
            outbox.forEachUnsettled { record in
                let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
                // Our own frame; it decodes.
                guard !record.isGap, let (head, _) = try? EventFrame.decode(body, limits: limits), head.wantsReceipt
                else { return }
                found.append(EventID(source: record.source, number: record.number))
            }
            queue.forEachEvent { if $0.wantsReceipt { found.append($0.context.id) } }
            return found
        }
    }

    /// Puts an event of the link before this one into the outbox.
    func takeOver(
        _ context: EventContext,
        name: String,
        attempt: UInt64,
        wantsReceipt: Bool,
        strikes: [String]?,
        payload: UnsafeRawBufferPointer
    ) {
        // A link that takes over is not a worker's: its memory is its own, and has room.
        _ = lock.withLock {
            append(
                context,
                name: name,
                attempt: attempt,
                wantsReceipt: wantsReceipt,
                strikes: strikes,
                payload: payload
            )
        }
    }
}
