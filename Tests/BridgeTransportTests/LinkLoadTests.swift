import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks
import Synchronization
import TestSupport
import Testing

/// How much the two links carry.
private enum Load {
    /// How many events go each way; a million by hand.
    static let events = rounds(20_000, atLeast: 5_000)

    /// Far more than the test takes: the limit only ends a hang.
    static var minutes: Int { 5 + events / 100_000 }
}

@Suite("Links under load on streams that do the worst they may", .serialized, .timeLimit(.minutes(Load.minutes)))
struct LinkLoadTests {
    @Test(
        "C16: events both ways at once through stalls, splits, signals and short writes: none lost, repeated or reordered",
        arguments: Carrier.allCases
    )
    func bothWays(carrier: Carrier) throws {
        let random = SeededGenerator.announced()
        let load = try LoadedPair(carrier, random: random, events: Load.events)
        let begin = MonotonicClock.now()
        try load.run()
        let seconds = Double(MonotonicClock.now() - begin) / 1e9
        for (name, side, stream) in load.sides {
            let result = side.result
            #expect(result.arrived == Load.events, "\(name), seed \(random.seed)")
            #expect(result.problems == [], "\(name), seed \(random.seed)")
            #expect(side.end.value == nil, "\(name), seed \(random.seed)")
            let deeds = stream.deeds
            // Otherwise the test showed little: each split of a small frame, both reasons to wait, and pauses of
            // readers and handlers must have happened.
            #expect(deeds.cuts.isSuperset(of: HarshStream.smallCuts), "\(name), seed \(random.seed)")
            #expect(deeds.inventedBlocks > 0 && deeds.emptyReads > 0 && deeds.pauses > 0 && result.pauses > 0)
            print(
                """
                \(carrier), \(name): \(result.arrived) events in \(seconds) s, \(deeds.reads) reads, \(deeds.writes) writes, \
                \(deeds.cuts.count) places of a cut, no room \(deeds.realBlocks) times and \(deeds.inventedBlocks) invented, \
                \(deeds.emptyReads) empty reads, \(deeds.pauses) pauses of the reader and \(result.pauses) of a handler, \
                \(result.relieved) events behind another thread's
                """
            )
        }
        print("\(carrier): \(load.interruptionsTaken) interruptions")
        #expect(load.interruptionsTaken > 0)
        load.shutDown()
    }
}

/// Two links, loaded both ways over streams with all possible faults.
private final class LoadedPair {
    let sides: [(name: String, side: LoadSide, stream: HarshStream)]
    private let links: [Link]
    private let poller: Poller
    private let interruptions: Interruptions
    private let interruptionsBefore = Interruptions.count
    private let events: Int

    var interruptionsTaken: Int { Interruptions.count - interruptionsBefore }

    init(_ carrier: Carrier, random: SeededGenerator, events: Int) throws {
        self.events = events
        poller = try Poller(name: "test")
        var random = random
        interruptions = try Interruptions(random: SeededGenerator(seed: random.next()))
        var limits = LinkLimits()
        // So little room that publishers wait again and again.
        limits.outboxBytes = 1 << 19
        let host = Link(
            peerName: "canvas",
            role: .host,
            ownSource: LinkPair.hostSource,
            limits: limits,
            poller: poller
        )
        let worker = Link(
            peerName: "host",
            role: .worker,
            ownSource: EventSource(origin: "canvas", incarnation: 0),
            limits: limits,
            poller: poller
        )
        links = [host, worker]
        let (near, far) = try carrier.pair(poller)
        let (toHost, toWorker) = (Encounters(), Encounters())
        let nearStream = HarshStream(
            near,
            random: SeededGenerator(seed: random.next()),
            poller: poller,
            interruptions: interruptions,
            incoming: toHost,
            outgoing: toWorker
        )
        let farStream = HarshStream(
            far,
            random: SeededGenerator(seed: random.next()),
            poller: poller,
            interruptions: interruptions,
            incoming: toWorker,
            outgoing: toHost
        )
        let hostSide = LoadSide(
            events: events,
            random: SeededGenerator(seed: random.next()),
            reading: toWorker,
            poller: poller,
            onMessage: { [limits] in LinkPair.hostReceived($1, $0, limits) }
        )
        let workerSide = LoadSide(
            events: events,
            random: SeededGenerator(seed: random.next()),
            reading: toHost,
            poller: poller,
            onMessage: { LinkPair.workerReceived($1, $0) }
        )
        sides = [("host", hostSide, nearStream), ("worker", workerSide, farStream)]
        worker.queue(.hello(LinkPair.hello(limits)))
        try host.start(over: nearStream, delegate: hostSide)
        try worker.start(over: farStream, delegate: workerSide)
        for side in [hostSide, workerSide] { side.isGreeted.wait { $0 } }
    }

    /// Returns when all events have arrived and both links are quiet, or after four minutes.
    func run() throws {
        let events = events
        let threads = try zip(links, [LinkPair.hostSource, LinkPair.workerSource]).map { link, source in
            try PlatformThread.startJoinable(name: "publisher") {
                LoadPayload.publishAll(events, over: link, from: source)
            }
        }
        for thread in threads { thread.join() }
        for (_, side, _) in sides { side.isComplete.wait { $0 } }
        for link in links {
            let isQuiet = Shared(false)
            link.whenQuiet { isQuiet.change { $0 = true } }
            #expect(isQuiet.wait { $0 })
            #expect(link.outboxDepth == (0, 0))
        }
    }

    func shutDown() {
        interruptions.end()
        for link in links { link.close() }
        for (_, side, _) in sides { side.end.wait { $0 != nil } }
        poller.stop()
    }
}

/// The receiving half of one side: checks each event, and is slow now and then.
private final class LoadSide: PartialSink, @unchecked Sendable {
    // Sendable: `result` and `random` belong to the thread in the strand, so the thread sanitizer would find a second
    // thread in it; the test reads them once `isComplete` is set. The rest is constant.
    struct Result {
        var arrived = 0
        /// The first few only.
        var problems: [String] = []
        var pauses = 0
        var relieved = 0
    }

    private(set) var result = Result()
    private var random: SeededGenerator
    private let isInside = Atomic<Bool>(false)
    private let events: Int
    private let reading: Encounters
    private let poller: Poller
    private let onMessage: @Sendable (Link, ControlMessage) -> Void
    let isComplete = Shared(false)
    let isGreeted = Shared(false)
    let end = Shared<LinkEnd?>(nil)

    init(
        events: Int,
        random: SeededGenerator,
        reading: Encounters,
        poller: Poller,
        onMessage: @escaping @Sendable (Link, ControlMessage) -> Void
    ) {
        self.events = events
        self.random = random
        self.reading = reading
        self.poller = poller
        self.onMessage = onMessage
    }

    func link(_ link: Link, received gap: GapFrame) { Issue.record("nothing is dropped, but there is \(gap)") }

    func link(_ link: Link, received run: inout EventRun) -> EventDisposition {
        let (head, payload) = (run.head, run.payload)
        guard link.strand.enter() else {
            let bytes = Array(payload)
            link.strand.append {
                self.result.relieved += 1
                if bytes.withUnsafeBytes({ self.handle(head, $0, link) }) { link.eventHandled(head.sequence.asWritten) }
            }
            return .pending
        }
        defer { link.strand.leave() }
        return handle(head, payload, link) ? .handled : .pending
    }

    /// - Returns: False if the event is handled later on.
    private func handle(_ head: EventHead, _ payload: UnsafeRawBufferPointer, _ link: Link) -> Bool {
        if isInside.exchange(true, ordering: .relaxed) { note("two handlers ran at once at event \(head.sequence)") }
        defer { isInside.store(false, ordering: .relaxed) }
        result.arrived += 1
        let number = UInt64(result.arrived)
        if head.id != .sender(number: number) { note("\(head.id) came where \(number) was expected") }
        if head.attempt != 1 { note("event \(number) was sent \(head.attempt) times") }
        if let problem = LoadPayload.problem(with: payload, expecting: number) { note(problem) }
        if result.arrived == events { isComplete.change { $0 = true } }
        // One happens for certain: in a short run, chance alone may leave out such a rare event.
        if Int.random(in: 0..<1_000, using: &random) == 0 || number == 500 {
            // So long that another thread reads on.
            result.pauses += 1
            reading.waitForReader(atMost: 10_000_000)
        }
        guard Int.random(in: 0..<50, using: &random) == 0 else { return true }
        poller.schedule(after: UInt64.random(in: 1...300_000, using: &random)) {
            link.eventHandled(head.sequence.asWritten)
        }
        return false
    }

    private func note(_ problem: String) {
        if result.problems.count < 5 { result.problems.append(problem) }
    }

    func link(_ link: Link, received message: ControlMessage) {
        onMessage(link, message)
        isGreeted.change { $0 = true }
    }

    func link(
        _ link: Link,
        wasRefused head: EventHead,
        payload: UnsafeRawBufferPointer,
        isOwed: Bool,
        refusal: Refusal
    ) -> Bool {
        // No handler here refuses.
        end.change { $0 = .failed("event \(head.sequence) was refused") }
        return false
    }

    func linkEnded(_ link: Link, _ ending: LinkEnd) {
        end.change { $0 = $0 ?? ending }
    }
}

/// What each event carries: its number, filling of a length that is the number's own, and a hash over both.
private enum LoadPayload {
    /// Mostly a hundred bytes or less, now and then more than a socket takes at once.
    private static func fillerBytes(_ random: inout SeededGenerator) -> Int {
        switch Int.random(in: 0..<2_000, using: &random) {
        case 0: Int.random(in: 0...300_000, using: &random)
        case 1...100: Int.random(in: 0...2_000, using: &random)
        default: Int.random(in: 0...80, using: &random)
        }
    }

    private static func fill(_ bytes: inout [UInt8], number: UInt64) {
        var random = SeededGenerator(seed: number)
        let fillerBytes = fillerBytes(&random)
        bytes.removeAll(keepingCapacity: true)
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        let filler = UInt8(truncatingIfNeeded: random.next())
        bytes.append(contentsOf: repeatElement(filler, count: fillerBytes))
        let sum = bytes.withUnsafeBytes { hash($0) }
        withUnsafeBytes(of: sum.littleEndian) { bytes.append(contentsOf: $0) }
    }

    /// FNV-1a, eight bytes at a time.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325
        var offset = 0
        while offset + 8 <= bytes.count {
            value = (value ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x100_0000_01B3
            offset += 8
        }
        while offset < bytes.count {
            value = (value ^ UInt64(bytes[offset])) &* 0x100_0000_01B3
            offset += 1
        }
        return value
    }

    static func problem(with payload: UnsafeRawBufferPointer, expecting number: UInt64) -> String? {
        guard payload.count >= 16 else { return "event \(number) has \(payload.count) bytes" }
        let found = UInt64(littleEndian: payload.loadUnaligned(as: UInt64.self))
        if found != number { return "the payload of event \(found) came where that of \(number) was expected" }
        let body = UnsafeRawBufferPointer(rebasing: payload.dropLast(8))
        let sum = UInt64(littleEndian: payload.loadUnaligned(fromByteOffset: body.count, as: UInt64.self))
        return hash(body) == sum ? nil : "event \(number) is damaged"
    }

    static func publishAll(_ count: Int, over link: Link, from source: EventSource) {
        var bytes: [UInt8] = []
        for number in 1...count {
            fill(&bytes, number: UInt64(number))
            let context = EventContext(id: EventID(source: source, number: UInt64(number)), nanosecondsSinceEpoch: 1)
            let outcome = bytes.withUnsafeBytes { link.enqueue(context, name: "BoxSaved", payload: $0) }
            link.flush(at: WallClock.now())
            guard case .accepted(_, let isCrowded) = outcome else {
                Issue.record("event \(number) was not taken: \(outcome)")
                return
            }
            guard isCrowded else { continue }
            let hasRoom = Shared(false)
            if link.whenRoom({ hasRoom.change { $0 = true } }) { hasRoom.wait { $0 } }
        }
    }
}
