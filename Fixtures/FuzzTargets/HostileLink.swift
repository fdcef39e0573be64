import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Locks

/// A whole link of a host with a hostile peer: nothing traps, and the tally adds up after each step.
///
/// The peer sends frames in any order, with any numbers and features, and shares memory with any numbers in it.
enum HostileLink {
    static func run(_ script: inout Script) throws {
        let (accepted, acceptedBytes) = (script.number(near: 0), script.number(near: 0))
        let memory = SharedMemory.common
        memory?.say(accepted: accepted, bytes: acceptedBytes)
        let events = script.choice(8)
        let bytes = CBORBuffer()
        ControlMessage.hello(HostileFrames.hello("c", &script)).encode(into: bytes)
        let dispositions = (0..<8).map { _ in script.byte() }
        while !script.isAtEnd {
            HostileFrames.writeFrame(into: bytes, from: Peers.worker.incarnation, &script)
        }
        guard let poller = Peers.poller else { return }
        var peer = Peer(bytes.copied(), memory: memory?.file, dispositions: dispositions, events: events)
        let link = Link(
            peerName: "peer",
            role: .host,
            ownSource: Peers.host,
            limits: limits,
            poller: poller
        )
        peer.trace(link)
        for number in 0..<events { peer.publish(number, over: link) }
        link.bringEvents(to: peer)
        try link.start(over: peer, control: peer)
        peer.waitForEnd()
        peer.look(at: link)
        if let broken = peer.broken { throw BrokenInvariant(description: broken) }
        // The link's thread may still hold the peer. Before the thread releases the peer, a leak checker would report
        // the memory of the link's weak reference: the only pointer to that memory is encoded in the peer's count.
        while !isKnownUniquelyReferenced(&peer) { yieldThread() }
    }

    private static var limits: LinkLimits {
        var limits = LinkLimits()
        limits.windowEvents = 8
        // Placed events are copied; this limit keeps a copy within the fuzzer's limit for one allocation.
        limits.frameBytes = 64 << 10
        limits.outboxBytes = 4 * LinkLimits.minimumCharge
        limits.outboxHardBytes = 8 * LinkLimits.minimumCharge
        limits.controlMessages = 1_000
        return limits
    }
}

/// What all runs share.
private enum Peers {
    static let host = EventSource(origin: "host", incarnation: 1)
    static let worker = EventSource(origin: "peer", incarnation: 2)
    static let poller = try? Poller(name: "fuzz")
}

/// The other end of the link and also its owner: all frames that it sends exist beforehand, and it checks the tally
/// after each step.
private final class Peer: ByteStream, LinkEventSink, LinkControlSink, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    let memory: MemoryFile?
    private let dispositions: [UInt8]
    private let lock: Lock
    private let changed: Condition
    private var bytes: ArraySlice<UInt8>
    private var isOver = false
    private var steps = 0
    private var published: Int
    private var found: String?
    private let recorder = SpanRecorder()

    init(_ bytes: [UInt8], memory: MemoryFile?, dispositions: [UInt8], events: Int) {
        self.bytes = bytes[...]
        self.memory = memory
        self.dispositions = dispositions
        published = events
        lock = Lock()
        changed = Condition(lock: lock)
    }

    /// The condition that did not hold, if any.
    var broken: String? { lock.withLock { found } }

    func waitForEnd() {
        lock.withLock { while !isOver { changed.wait() } }
    }

    /// Traces the link's events from now on.
    func trace(_ link: Link) {
        recorder.turn(on: true)
        link.setTrace(recorder)
    }

    func publish(_ number: Int, over link: Link) {
        let context = EventContext(
            id: EventID(source: Peers.host, number: UInt64(number + 1)),
            nanosecondsSinceEpoch: 1
        )
        var evicted: [Evicted] = []
        [0xA0].withUnsafeBytes {
            _ = link.enqueue(context, name: "a", isAccepted: true, payload: $0, evicted: &evicted)
        }
        link.flush(at: WallClock.now())
    }

    /// Reads the link's state after each step, as a caller that asks for the status of a host does.
    func look(at link: Link) {
        let (tally, waiting, bytes) = link.tally
        let settled = tally.handled + tally.unwanted + tally.unconfirmed + tally.refused
        let isBalanced = tally.accepted == settled + waiting && tally.arrivedHandled <= tally.arrived && bytes >= 0
        _ = (link.load, link.isQuiet, link.hasBacklog, link.hasRoom(for: "a"), link.isOverfull, link.peerWork)
        for span in recorder.take().spans { _ = span.end - span.start }
        guard !isBalanced else { return }
        lock.withLock { found = "\(tally) with \(waiting) waiting" }
    }

    /// Begins a step: looks at the link, and returns the byte of the script that decides what happens.
    private func nextStep(over link: Link) -> UInt8 {
        look(at: link)
        let (step, number) = lock.withLock {
            steps += 1
            published += 1
            return (steps, published)
        }
        let choice = dispositions[step % dispositions.count]
        if choice & 8 != 0 { publish(number, over: link) }
        return choice
    }

    // MARK: - The stream

    func read(into buffer: UnsafeMutableRawBufferPointer) -> IOOutcome {
        lock.withLock {
            if bytes.isEmpty { return .endOfStream }
            let count = min(bytes.count, buffer.count)
            buffer.copyBytes(from: bytes.prefix(count))
            bytes = bytes.dropFirst(count)
            return .transferred(count)
        }
    }

    func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome { .transferred(pieces.reduce(0) { $0 + $1.count }) }
    func whenWritable(_ body: @escaping @Sendable () -> Void) { Peers.poller?.perform(body) }
    func finishWriting() {}
    func finishReading() { lock.withLock { bytes = [] } }
    func close() { lock.withLock { bytes = [] } }

    // MARK: - What the link brings

    func link(_ link: Link, received run: inout EventRun) -> EventDisposition {
        let choice = nextStep(over: link)
        _ = run.context.context.attempt.advanced(by: 1)
        switch choice & 3 {
        case 0: return .handled
        case 1: return .unwanted
        case 2: return .refused(.invalid, text: "")
        default: return .pending
        }
    }

    func link(_ link: Link, received gap: GapFrame) {
        _ = nextStep(over: link)
        _ = link.gap(gap, named: "a")
    }

    func link(_ link: Link, received receipt: Receipt) { _ = nextStep(over: link) }

    func link(_ link: Link, leftUnconfirmed events: [EventID]) {}
    func link(_ link: Link, sawSettled numbers: [ClosedRange<UInt64>], of source: EventSource) {}

    func link(_ link: Link, received message: ControlMessage) {
        _ = nextStep(over: link)
        guard case .hello(let hello) = message else { return }
        link.established(
            peerSource: Peers.worker,
            ownIncarnation: Peers.host.incarnation,
            peerWindowBytes: hello.windowBytes,
            peerWindowEvents: hello.windowEvents,
            peerFrameBytes: hello.frameBytes,
            peerFeatures: hello.features
        )
        link.releaseEvents()
    }

    func link(
        _ link: Link,
        wasRefused: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool {
        nextStep(over: link) & 1 == 0
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) {
        look(at: link)
        lock.withLock {
            isOver = true
            changed.broadcast()
        }
    }
}
