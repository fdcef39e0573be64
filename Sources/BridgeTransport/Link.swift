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
    /// Who offers the events that this side publishes.
    private(set) var ownSource: EventSource
    let limits: LinkLimits
    let poller: Poller

    let lock: Lock
    var outbox: Outbox
    var receiveWindow: ReceiveWindow
    var phase: LinkPhaseMachine
    var peerInterest: InterestTable
    private(set) var peerSource: EventSource?
    /// The incarnation under which this side acknowledges, and the one that the peer's acknowledgements must carry.
    var ownIncarnation: UInt64 = 0
    var peerIncarnation: UInt64 = 0
    var maximumPeerFrame: Int

    var stream: (any ByteStream)?
    var end: LinkEnd?
    var isClosedHere = false
    /// The peer's process has ended, whoever else holds its socket.
    var isPeerGone = false
    /// The stream has nothing more to say; what the peer has left in memory may follow before the end.
    var isReadToEnd = false
    /// The newest event that was found in the peer's memory; 0 if none was.
    var lastTakenOver: UInt64 = 0
    /// Told when the peer's process has ended, or this side has closed the link.
    let peerWent: Condition
    /// Whether the stream's memory holds the peer's outbox, to be read after its death.
    private(set) var takesOver = false
    /// What was found in the peer's memory, once it has been read.
    var found: TakeOver?
    /// The page on which this side notes for its host what it is at; set before the reading thread begins.
    private(set) var sharedHead: OutboxHead?
    weak var delegate: (any LinkDelegate)?

    /// Events that wait until they lie in other links' outboxes too, ascending.
    var held: [UInt64] = []

    // Writing.
    var isWriting = false
    var isBlocked = false
    var isFlushScheduled = false
    var areEventsReleased = false
    var isAcknowledgementDue = false
    var isAcknowledgementTimerSet = false
    var lastWriteEnded: UInt64 = 0
    /// Control frames that wait for the next batch.
    var control = CBORBuffer(minimumCapacity: 512)
    /// Control frames of the batch that is being written.
    var controlInFlight = CBORBuffer(minimumCapacity: 512)
    /// What leaves ahead of the events of its batch: the handshake and interest.
    var announcements = CBORBuffer(minimumCapacity: 512)
    /// Of these, what is being written.
    var announcementsInFlight = CBORBuffer(minimumCapacity: 512)
    var pieces: [UnsafeRawBufferPointer] = []
    var firstPiece = 0
    var farewell: Goodbye?
    var isFarewellWritten = false
    let headBuffer = CBORBuffer(minimumCapacity: 256)
    var eventsSinceSettledMark = 0

    /// Acknowledgements that stand once an event of the peer has arrived.
    var pendingAcknowledgements: [Acknowledgement] = []
    /// Acknowledgements of another incarnation, which were ignored.
    var staleAcknowledgements = 0
    /// Those who wait for room in the outbox.
    var roomWaiters: [RoomWaiter] = []
    /// Called once when the link is quiet.
    var quietWaiters: [@Sendable () -> Void] = []

    /// The event whose inline handlers run; 0 between events.
    let handling = Atomic<UInt64>(0)
    /// When the reading thread last read something, on the monotonic clock; 0 while it is busy with what it read.
    let lastRead = Atomic<UInt64>(0)

    package init(
        peerName: String,
        role: LinkPhaseMachine.Role,
        ownSource: EventSource,
        limits: LinkLimits,
        poller: Poller
    ) {
        self.peerName = peerName
        self.ownSource = ownSource
        self.limits = limits
        self.poller = poller
        lock = Lock()
        peerWent = Condition(lock: lock)
        outbox = Outbox(limits: limits)
        receiveWindow = ReceiveWindow(windowBytes: limits.windowBytes, windowEvents: limits.windowEvents)
        phase = LinkPhaseMachine(role: role)
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
        let memory = phase.role == .worker ? try? stream.memory?.map() : nil
        lock.withLock {
            self.stream = stream
            self.delegate = delegate
            self.takesOver = takesOver
            if let memory { sharedHead = outbox.share(memory) }
        }
        lastRead.store(MonotonicClock.now(), ordering: .relaxed)
        try PlatformThread.start(name: "link \(peerName)") { self.readUntilEnd(stream) }
        pump()
    }

    /// Takes over what the peer said of itself in the handshake.
    ///
    /// - Parameter ownSource: who offers this side's events, where only the handshake says so.
    package func established(
        ownSource: EventSource? = nil,
        peerSource: EventSource,
        ownIncarnation: UInt64,
        peerWindowBytes: UInt64,
        peerWindowEvents: UInt64,
        peerFrameBytes: UInt64
    ) {
        lock.withLock {
            if let ownSource { self.ownSource = ownSource }
            self.peerSource = peerSource
            self.ownIncarnation = ownIncarnation
            peerIncarnation = peerSource.incarnation
            // A frame's length has 32 bits, whatever the peer says that it takes.
            maximumPeerFrame = Int(clamping: min(peerFrameBytes, 1 << 30))
            outbox.grant(
                windowBytes: Int(clamping: min(peerWindowBytes, 1 << 40)),
                // The span of a window must stay far from the end of the numbers.
                windowEvents: Int(clamping: min(peerWindowEvents, 1 << 20))
            )
        }
        pump()
    }

    /// Lets events leave from now on: the peer has said what it wants.
    package func releaseEvents() {
        lock.withLock { areEventsReleased = true }
        pump()
    }

    /// What the peer has left in the memory that it shared; nil before the link's end, and if there was none.
    package var takenOver: TakeOver? { lock.withLock { found } }

    /// Whether the link has ended.
    package var hasEnded: Bool { lock.withLock { end != nil } }

    /// The name that the peer gave one of its numbers.
    package func peerInterestName(of number: UInt64) -> String? { lock.withLock { peerInterest.name(of: number) } }

    package var isEstablished: Bool { lock.withLock { peerSource != nil && end == nil } }

    // MARK: - Events out

    /// What became of an event that was offered.
    package enum Enqueued: Sendable, Hashable {
        /// It lies in the outbox under this sequence.
        case accepted(sequence: UInt64)
        /// The link has ended; the next incarnation's takes the event.
        case ended
        /// The outbox is at its hard limit, in bytes.
        case full(limit: Int)
        /// The frame would be larger than the peer takes.
        case tooLarge(size: Int, limit: Int)
    }

    /// Puts an event into the outbox; ``flush(at:)`` then writes it.
    ///
    /// - Parameter isHeld: whether the event stays until ``release(_:)``, because it goes to other links as well and must lie in
    ///   all their outboxes before a byte of it is written to any: a quick peer could answer before the others have it.
    package func enqueue(
        _ context: EventContext,
        name: String,
        attempt: UInt64 = 1,
        isHeld: Bool = false,
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        lock.lock()
        defer { lock.unlock() }
        guard end == nil, farewell == nil, !isClosedHere || phase.role == .host else { return .ended }
        guard payload.count <= maximumPeerFrame - Self.headAllowance else {
            return .tooLarge(size: payload.count, limit: maximumPeerFrame - Self.headAllowance)
        }
        guard outbox.isEmpty || outbox.chargedBytes + payload.count <= limits.outboxHardBytes else {
            return .full(limit: limits.outboxHardBytes)
        }
        guard append(context, name: name, attempt: attempt, payload: payload) else {
            return .full(limit: limits.outboxHardBytes)
        }
        if isHeld { held.append(outbox.lastSequence) }
        return .accepted(sequence: outbox.lastSequence)
    }

    /// Lets a held event, and those behind it, leave.
    package func release(_ sequence: UInt64) {
        lock.withLock { held.removeAll { $0 == sequence } }
    }

    /// What a head takes at most beside its name: the largest identifiers thrice, and all options.
    static let headAllowance = 2_048

    /// Encodes a frame into the outbox, with the lock held.
    ///
    /// - Returns: False if the memory that is shared with the host has no room for it.
    private func append(
        _ context: EventContext,
        name: String,
        attempt: UInt64,
        payload: UnsafeRawBufferPointer
    ) -> Bool {
        var head = EventHead(
            sequence: outbox.lastSequence &+ 1,
            id: wireID(context.id),
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            name: peerInterest.number(of: name).map(WireName.number) ?? .text(name)
        )
        head.attempt = attempt
        if let cause = context.cause {
            head.cause = wireID(cause)
            if context.root != cause { head.root = wireID(context.root) }
        }
        head.settledBelow = settledMark(before: context.id)
        headBuffer.removeAll()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: headBuffer)
        let headBytes = headBuffer.bytes
        let frameLength = headBytes.count + payload.count
        let place = outbox.append(
            frameLength: frameLength,
            source: context.id.source,
            number: context.id.number,
            attempt: UInt32(clamping: attempt)
        )
        guard let frame = place else { return false }
        if let start = headBytes.baseAddress { frame.copyMemory(from: start, byteCount: headBytes.count) }
        if let start = payload.baseAddress {
            (frame + headBytes.count).copyMemory(from: start, byteCount: payload.count)
        }
        outbox.frameWasWritten(frameLength: frameLength)
        return true
    }

    private func wireID(_ id: EventID) -> WireID {
        if id.source === ownSource { return .sender(number: id.number) }
        if let peerSource, id.source === peerSource { return .receiver(number: id.number) }
        if id.incarnation == ownSource.incarnation, id.origin == ownSource.origin { return .sender(number: id.number) }
        if let peerSource, id.incarnation == peerSource.incarnation, id.origin == peerSource.origin {
            return .receiver(number: id.number)
        }
        return .other(origin: id.origin, incarnation: id.incarnation, number: id.number)
    }

    /// Below which number the receiver may forget this origin's events: told when nothing is open, or now and then.
    private func settledMark(before id: EventID) -> UInt64? {
        eventsSinceSettledMark += 1
        if outbox.isEmpty {
            eventsSinceSettledMark = 0
            return id.number
        }
        guard eventsSinceSettledMark >= 1_024 else { return nil }
        eventsSinceSettledMark = 0
        return outbox.lowestNumber(of: id.source) ?? id.number
    }

    // MARK: - Room

    /// Whether the outbox is below the limit where waiting begins.
    package var hasRoom: Bool { lock.withLock { end != nil || outbox.chargedBytes < limits.outboxBytes } }

    /// What the outbox holds, in charged bytes and in events.
    package var outboxDepth: (bytes: Int, events: Int) { lock.withLock { (outbox.chargedBytes, outbox.count) } }

    /// Whether the peer has acknowledged everything, and everything of it is handled.
    package var isQuiet: Bool { lock.withLock { isQuietNow } }

    /// How many events have gone either way so far: two equal readings mean that nothing moved between them.
    package var activity: UInt64 {
        lock.withLock { outbox.lastSequence &+ max(receiveWindow.lastReceived, lastTakenOver) }
    }

    /// With the lock held.
    var isQuietNow: Bool {
        outbox.isEmpty && receiveWindow.unhandledEvents == 0 && (!isReadToEnd || end != nil)
    }

    /// The event that the reading thread is in the handlers of; 0 if it is in none.
    package var handledNow: UInt64 { handling.load(ordering: .relaxed) }

    /// How long the reading thread has waited for the peer, in nanoseconds; nil while it is busy with what it read.
    package func silence(at now: UInt64) -> UInt64? {
        let last = lastRead.load(ordering: .relaxed)
        return last == 0 || now < last ? nil : now - last
    }

    // MARK: - The next incarnation

    /// Copies what the peer has not acknowledged into the outbox of the next incarnation's link, oldest first.
    ///
    /// Only after this link has ended, and before the other is attached.
    package func moveUnsettled(to next: Link) {
        lock.withLock {
            outbox.forEachUnsettled { record in
                let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
                // Our own frame, encoded above; it decodes.
                guard let (head, payloadOffset) = try? EventFrame.decode(body, limits: limits) else { return }
                let context = context(of: head, sender: record.source, number: record.number)
                next.takeOver(
                    context,
                    name: name(of: head.name),
                    attempt: UInt64(record.attempts) + 1,
                    payload: UnsafeRawBufferPointer(rebasing: body[payloadOffset...])
                )
            }
        }
    }

    private func takeOver(_ context: EventContext, name: String, attempt: UInt64, payload: UnsafeRawBufferPointer) {
        // A link that takes over is not a worker's: its memory is its own, and has room.
        _ = lock.withLock { append(context, name: name, attempt: attempt, payload: payload) }
    }

    func name(of name: WireName) -> String {
        switch name {
        case .text(let text): text
        case .number(let number): peerInterest.name(of: number) ?? ""
        }
    }

    /// The context of a frame that this side wrote.
    ///
    /// With the lock held.
    private func context(of head: EventHead, sender: EventSource, number: UInt64) -> EventContext {
        let written = context(of: head, sender: ownSource, receiver: peerSource ?? ownSource)
        return EventContext(
            id: EventID(source: sender, number: number),
            nanosecondsSinceEpoch: head.nanosecondsSinceEpoch,
            cause: written.cause,
            root: written.root
        )
    }
}

/// Somebody who waits until the outbox has room.
struct RoomWaiter {
    let id: UInt64
    let resume: @Sendable () -> Void
}
