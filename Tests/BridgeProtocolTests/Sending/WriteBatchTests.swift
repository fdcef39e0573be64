import DomainEvents
import TestSupport
import Testing

@testable import BridgeProtocol

/// A batch with the outbox that it takes events out of.
///
/// A class around a value that cannot be copied, because `#expect` cannot look into such a value.
private final class Writer {
    private var batch = WriteBatch()
    private var outbox = Outbox(limits: LinkLimits())
    private let source = EventSource(origin: "a", incarnation: 1)

    func queue(_ message: ControlMessage) -> Int { batch.queue(message) }

    var peerFrameBytes: Int {
        get { batch.peerFrameBytes }
        set { batch.peerFrameBytes = newValue }
    }

    func problem(of whole: Interest) -> String? { batch.problem(of: whole) }

    func problem(ofChanges changes: Interest) -> String? { batch.problem(ofChanges: changes) }

    func queue(changes: Interest) { batch.queue(changes: changes) }

    func append(_ frame: [UInt8]) {
        let memory = outbox.append(frameLength: frame.count, source: source, number: outbox.lastSequence + 1)
        frame.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memory?.copyMemory(from: start, byteCount: bytes.count) }
        }
    }

    /// Makes a batch; returns whether it carries frames before it is closed, and whether it has anything afterwards.
    func compose(through last: UInt64 = .max) -> (carriesFrames: Bool, isAnything: Bool) {
        batch.begin()
        outbox.compose(into: &batch.pieces, maximumBytes: .max, through: last)
        return (batch.carriesFrames, batch.close())
    }

    /// Takes at most `maximum` bytes; returns whether that was the end of the batch.
    func write(_ maximum: Int = .max) -> (bytes: [UInt8], isEnd: Bool) {
        let bytes = batch.remainder.flatMap { Array($0) }.prefix(maximum)
        let isEnd = batch.wasWritten(bytes.count)
        if isEnd { outbox.composedWasWritten() }
        return (Array(bytes), isEnd)
    }

    var isUnderWay: Bool { batch.isUnderWay }
    var isWritten: Bool { batch.isWritten }
    var isControlWaiting: Bool { batch.isControlWaiting }
}

@Suite("What leaves in one write")
struct WriteBatchTests {
    private func event(_ sequence: UInt64) -> [UInt8] {
        let head = EventHead(
            sequence: sequence,
            id: .sender(number: sequence),
            nanosecondsSinceEpoch: 1,
            name: .number(1)
        )
        return frame(head, payload: [0x01])
    }

    @Test("announcements leave first, then events, then control frames, in whatever order they came")
    func order() {
        let announcements = sampleMessages.filter(\.isAnnouncement)
        let control = sampleMessages.filter { !$0.isAnnouncement }
        #expect(!announcements.isEmpty && !control.isEmpty)
        let writer = Writer()
        var waiting = 0
        for message in sampleMessages.reversed() {
            if !message.isAnnouncement { waiting += frame(message).count }
            #expect(writer.queue(message) == waiting)
        }
        for sequence: UInt64 in 1...3 { writer.append(event(sequence)) }
        #expect(writer.compose() == (true, true))
        let expected =
            announcements.reversed().flatMap(frame) + (1...3).flatMap(event) + control.reversed().flatMap(frame)
        #expect(writer.write() == (expected, true))
        #expect(writer.isWritten)
    }

    @Test("each content of a batch: whether it carries anything, and whether all is written")
    func everyContent() {
        for content in 0..<8 {
            let (announces, publishes, controls) = (content & 1 != 0, content & 2 != 0, content & 4 != 0)
            let writer = Writer()
            var expected: [UInt8] = []
            if announces {
                _ = writer.queue(.interest(Interest()))
                expected += frame(.interest(Interest()))
            }
            if publishes {
                writer.append(event(1))
                expected += event(1)
            }
            if controls {
                _ = writer.queue(.ready)
                expected += frame(.ready)
            }
            #expect(writer.isControlWaiting == controls)
            // Events that are only in the outbox are not handed out yet.
            #expect(writer.isWritten == (!announces && !controls))
            #expect(writer.compose() == (content != 0, content != 0))
            #expect(writer.isUnderWay == (content != 0))
            #expect(!writer.isControlWaiting)
            #expect(writer.isWritten == (content == 0))
            #expect(writer.write() == (expected, true))
            #expect(!writer.isUnderWay && writer.isWritten)
        }
    }

    @Test("what is queued while a batch is written leaves with the next one")
    func queuedMeanwhile() {
        let writer = Writer()
        _ = writer.queue(.ready)
        _ = writer.compose()
        let first = frame(.ready)
        #expect(writer.write(2) == (Array(first.prefix(2)), false))
        _ = writer.queue(.heartbeat)
        _ = writer.queue(.interest(Interest()))
        #expect(writer.isControlWaiting)
        #expect(writer.write() == (Array(first.dropFirst(2)), true))
        #expect(!writer.isWritten)
        #expect(writer.compose() == (true, true))
        #expect(writer.write() == (frame(.interest(Interest())) + frame(.heartbeat), true))
    }

    @Test("events that may not leave yet stay, and are no batch")
    func held() {
        let writer = Writer()
        for sequence: UInt64 in 1...3 { writer.append(event(sequence)) }
        #expect(writer.compose(through: 0) == (false, false))
        #expect(writer.compose(through: 2) == (true, true))
        #expect(writer.write() == (event(1) + event(2), true))
        #expect(writer.compose() == (true, true))
        #expect(writer.write() == (event(3), true))
    }

    @Test("changes of the interest wait as what differs by the time they leave, behind the whole interest")
    func changes() {
        let writer = Writer()
        let names = (1...3).map { Interest.Name(number: $0, name: "Box\($0)") }
        _ = writer.queue(.interest(Interest(wanted: [names[0]])))
        _ = writer.queue(.ready)
        writer.queue(changes: Interest(wanted: [names[1], names[2]]))
        writer.queue(changes: Interest(unwanted: [1, 2]))
        #expect(!writer.isWritten)
        #expect(writer.compose() == (true, true))
        let change = Interest(wanted: [names[2]], unwanted: [1])
        let whole = Interest(wanted: [names[0]])
        #expect(writer.write() == (frame(.interest(whole)) + frame(.interest(change)) + frame(.ready), true))
        for _ in 0..<10 {
            writer.queue(changes: Interest(wanted: [names[0]], unwanted: [3]))
            writer.queue(changes: Interest(wanted: [names[2]], unwanted: [1]))
        }
        // All is as the peer was told.
        #expect(writer.isWritten)
        #expect(writer.compose() == (false, false))
    }

    @Test("changes of very many names leave in messages as large as a worker's")
    func manyChanges() throws {
        let writer = Writer()
        let names = (1...UInt64(10_000)).map { Interest.Name(number: $0, name: "Box\($0)") }
        for name in names.shuffled() { writer.queue(changes: Interest(wanted: [name])) }
        _ = writer.compose()
        let told = try frames(in: writer.write().bytes).map { try decodeMessage(bodyOf($0)) }
        let parts = [0..<4_096, 4_096..<8_192, 8_192..<10_000].map { Interest(wanted: Array(names[$0])) }
        #expect(told == parts.map { .interest($0) })
    }

    @Test("changes leave in as many messages as the peer's frames need, those that take names back first")
    func smallFrames() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(100) {
            let writer = Writer()
            let names = (0..<200).map { _ in
                Interest.Name(
                    number: random.next() >> random.below(64),
                    name: String(repeating: "n", count: 1 + random.below(EventName.maximumBytes))
                )
            }
            let byNumber = Dictionary(names.map { ($0.number, $0) }) { first, _ in first }
            let all = byNumber.values.sorted { $0.number < $1.number }
            let (before, after) = (Array(all.prefix(all.count / 2)), Array(all.dropFirst(all.count / 2)))
            writer.queue(changes: Interest(wanted: before))
            _ = writer.compose()
            _ = writer.write()
            let changes = Interest(wanted: after, unwanted: before.map(\.number))
            // The least frame in which any name has room, and larger ones.
            writer.peerFrameBytes = 8 + (1 + 9 + 3 + EventName.maximumBytes) + random.below(2_000)
            #expect(writer.problem(ofChanges: changes) == nil)
            writer.queue(changes: changes)
            _ = writer.compose()
            let bodies = try frames(in: writer.write().bytes).map(bodyOf)
            var told = Interest()
            for body in bodies {
                #expect(body.count <= writer.peerFrameBytes)
                guard case .interest(let part)? = try decodeMessage(body) else { throw LinkViolation("no interest") }
                #expect(part.unwanted.isEmpty || told.wanted.isEmpty)
                told.wanted += part.wanted
                told.unwanted += part.unwanted
            }
            #expect(told == changes)
            // No two neighbours would fit into one frame.
            for (one, other) in zip(bodies, bodies.dropFirst()) {
                #expect(one.count + other.count > writer.peerFrameBytes)
            }
        }
    }

    @Test("an interest that fits into the peer's frames to the byte is told; one byte less, and it is not")
    func interestLength() {
        let counts = [0, 1, 23, 24, 255, 256, 65_535, 65_536]
        var interests = counts.map { count in
            Interest(wanted: (0..<count).map { Interest.Name(number: UInt64($0), name: "\($0)") })
        }
        interests += counts.map { Interest(unwanted: (0..<$0).map { UInt64($0) }) }
        for number: UInt64 in [0, 23, 24, 255, 256, 65_535, 65_536, 1 << 32 - 1, 1 << 32, .max] {
            for length in [1, 23, 24, 255, 256] {
                let name = Interest.Name(number: number, name: String(repeating: "n", count: length))
                interests.append(Interest(wanted: [name], unwanted: [number]))
            }
        }
        for interest in interests {
            let writer = Writer()
            let bytes = bodyOf(frame(.interest(interest))).count
            writer.peerFrameBytes = bytes
            #expect(writer.problem(of: interest) == nil)
            writer.peerFrameBytes = bytes - 1
            let problem = """
                it takes frames of at most \(bytes - 1) bytes, and the names of the events that are wanted from it \
                take a frame of \(bytes) bytes
                """
            #expect(writer.problem(of: interest) == problem)
            // Each change can leave alone, or the peer is told why none does.
            for number in interest.unwanted.suffix(1) {
                writer.peerFrameBytes = bodyOf(frame(.interest(Interest(unwanted: [number])))).count - 1
                #expect(writer.problem(ofChanges: interest) != nil)
            }
        }
    }

    @Test("a receipt names as many processes as it may and as fit into the peer's frames, and says if it lacks some")
    func receiptLength() throws {
        let most = LinkLimits.receiptNames
        let other = WireID.other(origin: String(repeating: "o", count: 256), incarnation: .max, number: .max)
        for length in [1, 23, 24, 64, 256] {
            for (count, outcome): (Int, Receipt.Outcome) in [
                (1, .handled), (most, .handled), (most + 4, .handled), (300, .refused),
            ] {
                let receipt = Receipt(
                    id: outcome == .refused ? other : .sender(number: 1),
                    process: "host",
                    outcome: outcome.rawValue,
                    handlers: .max,
                    text: outcome == .refused ? String(repeating: "t", count: 1_024) : "",
                    passedOnTo: (0..<count).map { String(repeating: "\($0 % 10)", count: length) }
                )
                let whole = bodyOf(frame(.receipt(receipt))).count
                for limit in [2_048, 5_000, whole - 1, whole, whole + 256] where limit >= 2_048 {
                    let body = try told(receipt, limit)
                    #expect(body.count <= limit)
                    guard case .receipt(let told)? = try decodeMessage(body) else { throw LinkViolation("no receipt") }
                    let kept = told.passedOnTo.count
                    #expect(told.passedOnTo == Array(receipt.passedOnTo[..<kept]))
                    if kept == count || outcome == .refused {
                        #expect(told.outcome == receipt.outcome && told.text == receipt.text)
                    } else {
                        #expect(told.outcome == Receipt.Outcome.unavailable.rawValue)
                        let text = "it was passed on to \(count) processes, and a receipt names \(kept) at most"
                        #expect(told.text == text)
                    }
                    // No name is left out that surely fits.
                    #expect(kept == count || kept == most || body.count + length + 256 > limit)
                    if limit >= whole + 256 { #expect(kept == min(count, most)) }
                }
            }
        }
    }

    /// The body of a receipt's frame for a peer that takes bodies of this many bytes.
    private func told(_ receipt: Receipt, _ limit: Int) throws -> [UInt8] {
        let writer = Writer()
        writer.peerFrameBytes = limit
        _ = writer.queue(.receipt(receipt))
        _ = writer.compose()
        return bodyOf(writer.write().bytes)
    }

    @Test("a random life: each byte leaves once, whatever the stream takes at a time, and in the order of its kind")
    func randomLives() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(100) {
            let writer = Writer()
            var (announced, controlled, published) = ([[UInt8]](), [[UInt8]](), [[UInt8]]())
            var written: [UInt8] = []
            for _ in 0..<100 {
                switch random.below(4) {
                case 0:
                    guard let message = sampleMessages.randomElement(using: &random) else { continue }
                    _ = writer.queue(message)
                    if message.isAnnouncement {
                        announced.append(frame(message))
                    } else {
                        controlled.append(frame(message))
                    }
                case 1:
                    published.append(event(UInt64(published.count + 1)))
                    writer.append(published[published.count - 1])
                default:
                    if !writer.isUnderWay { _ = writer.compose() }
                    written += writer.write(random.below(200)).bytes
                }
            }
            repeat { written += writer.write().bytes } while writer.compose().isAnything
            var kinds: [[[UInt8]]] = [[], [], []]
            for frame in try frames(in: written) {
                if bodyOf(frame).withUnsafeBytes({ ControlMessage.kind(of: $0) }) == FrameKind.event.rawValue {
                    kinds[1].append(frame)
                } else if let message = try decodeMessage(bodyOf(frame)), message.isAnnouncement {
                    kinds[0].append(frame)
                } else {
                    kinds[2].append(frame)
                }
            }
            #expect(kinds == [announced, published, controlled])
        }
    }

    private func frames(in bytes: [UInt8]) throws -> [[UInt8]] {
        var found: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let step = try rest.withUnsafeBytes { try FrameDecoder(limit: 1 << 20).next(in: $0) }
            guard case .frame(let length) = step else { throw FrameError.truncated(have: rest.count, need: 0) }
            found.append(Array(rest.prefix(length)))
            rest.removeFirst(length)
        }
        return found
    }
}

extension ControlMessage {
    fileprivate var isAnnouncement: Bool {
        switch self {
        case .hello, .welcome, .interest: true
        default: false
        }
    }
}
