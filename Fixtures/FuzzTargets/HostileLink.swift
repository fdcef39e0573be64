import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Locks

/// A whole link of a host whose peer sends frames in any order, with any numbers and any features, and shares memory in which any
/// numbers stand: nothing traps, and the tally adds up after each step.
enum HostileLink {
    static func run(_ script: inout Script) throws {
        let features = LinkFeatures(rawValue: UInt64(script.choice(4)))
        let (accepted, acceptedBytes) = (script.number(near: 0), script.number(near: 0))
        let memory = SharedMemory.common
        memory?.say(accepted: accepted, bytes: acceptedBytes)
        let events = script.choice(8)
        let bytes = CBORBuffer()
        ControlMessage.hello(hello(features, &script)).encode(into: bytes)
        let dispositions = (0..<8).map { _ in script.byte() }
        while !script.isAtEnd { writeFrame(into: bytes, &script) }
        guard let poller = Peers.poller else { return }
        let peer = Peer(bytes.copied(), memory: memory?.file, dispositions: dispositions, events: events)
        let link = Link(
            peerName: "peer",
            role: .host,
            ownSource: Peers.host,
            limits: limits,
            poller: poller
        )
        for number in 0..<events { peer.publish(number, over: link) }
        try link.attach(peer, delegate: peer)
        peer.waitForEnd()
        peer.look(at: link)
        if let broken = peer.broken { throw BrokenInvariant(description: broken) }
    }

    private static var limits: LinkLimits {
        var limits = LinkLimits()
        limits.windowEvents = 8
        // What is placed is copied: no more than the fuzzer lets be taken at once.
        limits.frameBytes = 64 << 10
        limits.outboxBytes = 4 * LinkLimits.minimumCharge
        limits.outboxHardBytes = 8 * LinkLimits.minimumCharge
        limits.controlMessages = 1_000
        return limits
    }

    private static func hello(_ features: LinkFeatures, _ script: inout Script) -> Hello {
        Hello(
            name: "peer",
            cookie: "c",
            library: "",
            windowBytes: script.number(near: 4_096),
            windowEvents: script.number(near: 8),
            frameBytes: script.number(near: 4_096),
            features: features
        )
    }

    // MARK: - Frames

    private static func writeFrame(into bytes: CBORBuffer, _ script: inout Script) {
        switch script.choice(10) {
        case 0, 1: event(&script, into: bytes)
        case 2:
            let gap = GapFrame(
                sequence: script.number(near: 1),
                name: .text("a"),
                count: script.number(near: 1),
                reason: script.number(near: 1),
                ranges: [.init(first: id(&script), last: script.number(near: 1))]
            )
            gap.encode(into: bytes)
        case 3, 4:
            let (one, other) = (script.number(near: 2), script.number(near: 4))
            let acknowledgement = Acknowledgement(
                mark: script.number(near: 1),
                ranges: script.choice(2) == 0
                    ? [] : [UntrustedNumber(min(one, other))...UntrustedNumber(max(one, other))],
                after: script.number(near: 0),
                unwanted: script.number(near: 0)
            )
            let incarnation = script.choice(8) == 0 ? script.number(near: 1) : Peers.worker.incarnation
            ControlMessage.acknowledge(acknowledgement, incarnation: incarnation).encode(into: bytes)
        case 5:
            let refusal = Refusal(sequence: script.number(near: 1), reason: script.number(near: 1), text: "")
            ControlMessage.refuse(refusal).encode(into: bytes)
        case 6:
            let placed = PlacedFrame(
                sequence: script.number(near: 1),
                offset: script.number(near: 4_096),
                length: script.number(near: 64)
            )
            let start = UnsafeMutableRawPointer.allocate(byteCount: PlacedFrame.maximumBytes, alignment: 1)
            defer { start.deallocate() }
            let count = placed.encode(at: start)
            bytes.append(Array(UnsafeRawBufferPointer(start: start, count: count)))
        case 7:
            let wanted = Interest.Name(number: script.number(near: 2), name: "n\(script.choice(4))")
            ControlMessage.interest(Interest(wanted: [wanted], unwanted: [script.number(near: 2)])).encode(into: bytes)
        case 8: message(&script).encode(into: bytes)
        default: bytes.append((0..<script.choice(16)).map { _ in script.byte() })
        }
    }

    private static func event(_ script: inout Script, into bytes: CBORBuffer) {
        var head = EventHead(
            sequence: script.number(near: 1),
            id: id(&script),
            nanosecondsSinceEpoch: script.number(near: 0),
            name: script.choice(2) == 0 ? .text("a") : .number(script.number(near: 1))
        )
        let options = script.byte()
        if options & 1 != 0 { head.attempt = UntrustedNumber(script.number(near: 2)) }
        if options & 2 != 0 { head.wantsReceipt = true }
        if options & 4 != 0 { head.cause = id(&script) }
        if options & 8 != 0 { head.settledBelow = UntrustedNumber(script.number(near: 1)) }
        EventFrame.encodeHead(head, payloadBytes: 1, into: bytes)
        bytes.append([0xA0])
    }

    private static func id(_ script: inout Script) -> WireID {
        switch script.choice(4) {
        case 0: .receiver(number: script.number(near: 1))
        case 1: .other(origin: "o", incarnation: script.number(near: 1), number: script.number(near: 1))
        default: .sender(number: script.number(near: 1))
        }
    }

    private static func message(_ script: inout Script) -> ControlMessage {
        switch script.choice(5) {
        case 0: .ready
        case 1: .heartbeat(Heartbeat(busySequence: script.number(near: 1), busyMilliseconds: script.number(near: 1)))
        case 2: .moreTime(milliseconds: UntrustedNumber(script.number(near: 1)), reason: "")
        case 3:
            .receipt(Receipt(id: id(&script), process: "peer", outcome: script.number(near: 1), text: ""))
        default:
            .goodbye(
                Goodbye(
                    reason: script.number(near: 1),
                    text: "",
                    lastWritten: script.number(near: 1),
                    handledMark: script.number(near: 1)
                )
            )
        }
    }
}

/// What all runs share.
private enum Peers {
    static let host = EventSource(origin: "host", incarnation: 1)
    static let worker = EventSource(origin: "peer", incarnation: 2)
    static let poller = try? Poller(name: "fuzz")
}

/// Memory as a worker shares it: made once, as one run follows the other.
private final class SharedMemory: Sendable {
    static let common = SharedMemory()

    let file: MemoryFile
    private let mapping: MemoryMapping

    private init?() {
        guard let file = MemoryFile.forOutbox(LinkLimits()), let mapping = try? file.map() else { return nil }
        (self.file, self.mapping) = (file, mapping)
    }

    func say(accepted: UInt64, bytes: UInt64) {
        mapping.bytes.storeBytes(of: accepted, toByteOffset: OutboxLayout.Field.accepted, as: UInt64.self)
        mapping.bytes.storeBytes(of: bytes, toByteOffset: OutboxLayout.Field.acceptedBytes, as: UInt64.self)
    }
}

/// The other end of the link and its owner at once: has said everything beforehand, and looks at the tally after each step.
private final class Peer: ByteStream, LinkDelegate, @unchecked Sendable {
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

    init(_ bytes: [UInt8], memory: MemoryFile?, dispositions: [UInt8], events: Int) {
        self.bytes = bytes[...]
        self.memory = memory
        self.dispositions = dispositions
        published = events
        lock = Lock()
        changed = Condition(lock: lock)
    }

    /// What was found not to hold.
    var broken: String? { lock.withLock { found } }

    func waitForEnd() {
        lock.withLock { while !isOver { changed.wait() } }
    }

    func publish(_ number: Int, over link: Link) {
        let context = EventContext(
            id: EventID(source: Peers.host, number: UInt64(number + 1)),
            nanosecondsSinceEpoch: 1
        )
        var displaced: [Link.Displaced] = []
        [0xA0].withUnsafeBytes {
            _ = link.enqueue(context, name: "a", isAccepted: true, payload: $0, displaced: &displaced)
        }
        link.flush(at: WallClock.now())
    }

    /// After each step, as whoever asks for the status of a host does.
    func look(at link: Link) {
        let (tally, waiting, bytes) = link.tally
        let settled = tally.handled + tally.unwanted + tally.unconfirmed + tally.refused
        let isBalanced = tally.accepted == settled + waiting && tally.arrivedHandled <= tally.arrived && bytes >= 0
        _ = (link.load, link.isQuiet, link.hasBacklog, link.hasRoom(for: "a"), link.isOverfull, link.peerWork)
        guard !isBalanced else { return }
        lock.withLock { found = "\(tally) with \(waiting) waiting" }
    }

    /// One byte of the script for each step.
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

    func link(_ link: Link, received head: EventHead, payload: UnsafeRawBufferPointer) -> EventDisposition {
        let choice = nextStep(over: link)
        _ = link.context(of: head)?.attempt.advanced(by: 1)
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

    func link(_ link: Link, wasRefused: EventHead, payload: UnsafeRawBufferPointer, refusal: Refusal) {
        _ = nextStep(over: link)
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) {
        look(at: link)
        lock.withLock {
            isOver = true
            changed.broadcast()
        }
    }
}
