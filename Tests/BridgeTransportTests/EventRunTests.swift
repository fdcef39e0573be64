import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

@testable import BridgeTransport

@Suite("A run of events that lie together in the buffer", .timeLimit(.minutes(5)))
struct EventRunTests {
    private static let source = EventSource(origin: "sender", incarnation: 7)
    private static let third = EventSource(origin: "third", incarnation: 8)
    private static let receiver = EventSource(origin: "receiver", incarnation: 9)

    /// A frame with a head that is plain unless its cause is an event of a third process.
    private static func frame(
        _ sequence: UInt64,
        name: UInt64 = 5,
        payload: [UInt8] = Array(repeating: 0, count: 40),
        isOfThird: Bool = false,
        cause: WireID? = nil,
        root: WireID? = nil
    ) -> [UInt8] {
        var head = EventHead(
            sequence: sequence,
            id: isOfThird
                ? .other(origin: third.origin, incarnation: third.incarnation, number: sequence + 100)
                : .sender(number: sequence + 100),
            nanosecondsSinceEpoch: 1,
            name: .number(name)
        )
        (head.cause, head.root) = (cause, root)
        head.settledBelow = sequence % 2 == 0 ? UntrustedNumber(sequence) : nil
        let buffer = CBORBuffer()
        EventFrame.encodeHead(head, payloadBytes: payload.count, into: buffer)
        return Array(buffer.bytes) + payload
    }

    private static func reader(_ bytes: [UInt8], limit: Int = 1_000) -> FrameReader {
        let reader = FrameReader(limit: limit)
        reader.buffer.makeRoom(for: bytes.count)
        bytes.withUnsafeBytes { reader.buffer.writable.copyMemory(from: $0) }
        reader.buffer.wasFilled(by: bytes.count)
        return reader
    }

    private static func run(of reader: FrameReader, _ strand: LinkStrand) -> EventRun {
        EventRun(
            of: reader,
            peer: .passUnretained(source),
            own: .passUnretained(receiver),
            strand: strand,
            turn: strand.turn
        )
    }

    @Test("has the plain events of one name, up to the first frame that is something else, or not whole")
    func extent() {
        let plain = Self.frame(1) + Self.frame(2)
        let otherCause = WireID.other(origin: "third", incarnation: 8, number: 1)
        let cases: [(bytes: [UInt8], count: Int)] = [
            ([], 0), (Array(plain.dropLast()), 1), (plain, 2), (Self.frame(1, name: 4) + plain, 1),
            (plain + Self.frame(3, name: 4), 2), (plain + Self.frame(3, cause: otherCause), 2),
            (Self.frame(3, cause: otherCause) + plain, 0), (plain + Self.frame(3, cause: .receiver(number: 1)), 3),
            (plain + [0, 0, 0, 1, 0], 2),
            // A frame that is too long, or empty, is an error when the events before it are handled.
            (plain + Self.frame(3, payload: Array(repeating: 0, count: 2_000)), 2), (plain + [0, 0, 0, 0], 2),
            ((1...100).flatMap { Self.frame($0) }, 64),
        ]
        for (bytes, count) in cases { #expect(Self.reader(bytes).takeRun().count == count) }
        let long = (1...20).flatMap { Self.frame($0, payload: Array(repeating: 0, count: 10_000)) }
        #expect(Self.reader(long, limit: 20_000).takeRun().count == 7)
    }

    @Test("says of each event in hand what its frame says")
    func contents() throws {
        let reader = Self.reader((1...3).flatMap { Self.frame($0, payload: Array(repeating: UInt8($0), count: 40)) })
        _ = reader.takeRun()
        let strand = LinkStrand()
        var run = Self.run(of: reader, strand)
        #expect(run.name == .number(5) && run.isOfPeer && !run.wantsReceipt)
        for sequence in 1...UInt64(3) {
            let isTaken = sequence == 1 ? run.takeNext() : run.handledTakesNext()
            #expect(isTaken)
            #expect(run.sequence == sequence)
            #expect(Array(run.payload) == Array(repeating: UInt8(sequence), count: 40))
            let context = run.context.context
            #expect(context.id == EventID(source: Self.source, number: sequence + 100))
            #expect(context.nanosecondsSinceEpoch == 1 && context.attempt == 1 && context.cause == nil)
            #expect(context.settledBelow == (sequence == 2 ? 2 : nil))
            // An event is noted when the next one is taken.
            #expect(strand.handledThrough == sequence - 1)
        }
        let isNextTaken = run.handledTakesNext()
        #expect(!isNextTaken)
        #expect(strand.handledThrough == 2)
        reader.finishFrame()
        #expect(reader.buffer.readable.isEmpty && !reader.hasRest)
    }

    @Test("says what caused each event, also of a third process", arguments: [false, true])
    func causes(isOfThird: Bool) throws {
        let ids: [(wire: WireID?, id: EventID?)] = [
            (nil, nil), (.sender(number: 3), EventID(source: Self.source, number: 3)),
            (.receiver(number: 4), EventID(source: Self.receiver, number: 4)),
        ]
        let pairs = ids.flatMap { cause in ids.map { (cause, root: $0) } }
        let cases = pairs.filter { $0.0.id != nil || $0.root.id == nil }
        let frames = zip(UInt64(1)..., cases).flatMap { sequence, causes in
            Self.frame(sequence, isOfThird: isOfThird, cause: causes.0.wire, root: causes.root.wire)
        }
        let reader = Self.reader(frames, limit: 10_000)
        reader.takeRuns(of: Self.third)
        #expect(reader.takeRun().count == cases.count)
        var run = Self.run(of: reader, LinkStrand())
        for (index, (cause, root)) in cases.enumerated() {
            let isTaken = index == 0 ? run.takeNext() : run.handledTakesNext()
            #expect(isTaken)
            let context = run.context.context
            #expect(context.cause == cause.id)
            #expect(context.root == root.id ?? cause.id ?? context.id)
        }
    }

    @Test("has events that the peer passes on, once the reader knows the process that has published them")
    func ofThirdProcess() throws {
        let reader = Self.reader(Self.frame(1, isOfThird: true) + Self.frame(2, isOfThird: true) + Self.frame(3))
        #expect(reader.takeRun().isEmpty)
        reader.takeRuns(of: Self.third)
        #expect(reader.takeRun().count == 2)
        #expect(reader.runSource === Self.third)
        var run = Self.run(of: reader, LinkStrand())
        #expect(!run.isOfPeer)
        var isTaken = run.takeNext()
        #expect(isTaken)
        #expect(run.context.context.id == EventID(source: Self.third, number: 101))
        isTaken = run.handledTakesNext()
        #expect(isTaken)
        #expect(run.context.context.id.source === Self.third)
        reader.finishFrame()
        #expect(reader.takeRun().count == 1 && reader.runSource == nil)
    }

    @Test(
        "passes to the thread that reads on, all but the event in hand, wherever it is taken over",
        arguments: 1...4,
        [false, true]
    )
    func handOver(inHand: Int, isOfThird: Bool) throws {
        let reader = Self.reader(
            (1...4).flatMap {
                Self.frame($0, payload: Array(repeating: UInt8($0), count: 40), isOfThird: isOfThird)
            }
        )
        reader.takeRuns(of: Self.third)
        _ = reader.takeRun()
        let source = reader.runSource ?? Self.source
        #expect((source == Self.third) == isOfThird)
        let strand = LinkStrand()
        var run = Self.run(of: reader, strand)
        var isTaken = run.takeNext()
        while isTaken, run.sequence < UInt64(inHand) { isTaken = run.handledTakesNext() }
        #expect(isTaken)
        // The event's handlers are slow: another thread takes the reading over, and leaves this one the frame's memory.
        #expect(strand.enter())
        guard case .needsThread = strand.relieve(run.sequence) else {
            Issue.record("there is a second thread")
            return
        }
        let turn = try #require(strand.waitForTurn())
        reader.leaveFrame()
        isTaken = run.handledTakesNext() || run.takeNext()
        #expect(!isTaken && run.bytesBehind == 0)
        #expect(Array(run.payload) == Array(repeating: UInt8(inHand), count: 40))
        #expect(reader.hasRest == (inHand < 4))
        #expect(reader.inHand.sequence == UInt64(inHand))
        #expect(reader.runSource == (isOfThird ? Self.third : nil))
        #expect(turn == strand.turn)
        var rest = Self.run(of: reader, strand)
        #expect(rest.isOfPeer != isOfThird)
        var next = UInt64(inHand)
        while rest.takeNext() {
            next += 1
            #expect(rest.sequence == next)
            #expect(Array(rest.payload) == Array(repeating: UInt8(next), count: 40))
        }
        #expect(next == 4)
        reader.finishFrame()
        #expect(reader.buffer.readable.isEmpty)
        strand.leave()
    }
}
