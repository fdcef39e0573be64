import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

@Suite("Frames in their two forms, and at their limits")
struct FrameFormTests {
    private static let numbers: [UInt64] = [1, 23, 24, 255, 256, 65_535, 65_536, 1 << 32 - 1, 1 << 32, .max]

    private static let third = EventSource(origin: "canvas", incarnation: 1 << 40)

    @Test("the short way of writing an event's head writes what the general one does", arguments: numbers)
    func plainHeads(sequence: UInt64) throws {
        var others = SpelledSources()
        for source in [nil, Self.third] {
            let spelled = source.flatMap { others.spelled($0) }
            for number in Self.numbers {
                for name in [0, 300, .max] as [UInt64] {
                    for settledBelow in [nil] + Self.numbers.map(Optional.some) {
                        let plain = EventFrame.PlainHead(
                            sequence: sequence,
                            source: spelled?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0),
                            number: number,
                            nanosecondsSinceEpoch: number ^ name,
                            name: name,
                            causes: NearCauses(),
                            settledBelow: settledBelow
                        )
                        let written = [UInt8](unsafeUninitializedCapacity: plain.length) { buffer, count in
                            if let start = buffer.baseAddress { plain.encode(at: start, payloadBytes: 1_000) }
                            count = plain.length
                        }
                        var head = EventHead(
                            sequence: sequence,
                            id: Self.id(of: source, number),
                            nanosecondsSinceEpoch: number ^ name,
                            name: .number(name)
                        )
                        head.settledBelow = settledBelow.map { UntrustedNumber($0) }
                        let buffer = CBORBuffer()
                        EventFrame.encodeHead(head, payloadBytes: 1_000, into: buffer)
                        #expect(written == buffer.copied())
                        try checkReading(written, head, others)
                    }
                }
            }
        }
    }

    @Test("so it does for causes that are events of the two processes", arguments: [nil, 1, .max] as [UInt64?])
    func plainCauses(settledBelow: UInt64?) throws {
        let ids = [nil] + Self.numbers.flatMap { [NearID.sender($0), .receiver($0)] }.map(Optional.some)
        for cause in ids {
            for root in ids {
                let plain = EventFrame.PlainHead(
                    sequence: 300,
                    source: UnsafeRawBufferPointer(start: nil, count: 0),
                    number: 70_000,
                    nanosecondsSinceEpoch: 1 << 60,
                    name: 5,
                    causes: NearCauses(cause: cause, root: root),
                    settledBelow: settledBelow
                )
                let written = [UInt8](unsafeUninitializedCapacity: plain.length) { buffer, count in
                    if let start = buffer.baseAddress { plain.encode(at: start, payloadBytes: 1_000) }
                    count = plain.length
                }
                var head = EventHead(
                    sequence: 300,
                    id: .sender(number: 70_000),
                    nanosecondsSinceEpoch: 1 << 60,
                    name: .number(5)
                )
                (head.cause, head.root) = (cause?.wireID, root?.wireID)
                head.settledBelow = settledBelow.map { UntrustedNumber($0) }
                #expect(head.isPlain)
                let buffer = CBORBuffer()
                EventFrame.encodeHead(head, payloadBytes: 1_000, into: buffer)
                #expect(written == buffer.copied())
                try checkReading(written, head, SpelledSources())
            }
        }
    }

    private static func id(of source: EventSource?, _ number: UInt64) -> WireID {
        guard let source else { return .sender(number: number) }
        return .other(origin: source.origin, incarnation: source.incarnation, number: number)
    }

    /// A short body is read the general way, a long one the short way.
    private func checkReading(_ written: [UInt8], _ head: EventHead, _ others: SpelledSources) throws {
        for payload in [1, 11, 12, 60] {
            let body = bodyOf(written) + [UInt8](repeating: 0xF4, count: payload)
            let read = try decodeEvent(body)
            #expect(read.payload.count == payload)
            #expect(read.head.sequence == head.sequence && read.head.settledBelow == head.settledBelow)
            #expect(read.head.id == head.id && read.head.name == head.name)
            #expect(read.head.cause == head.cause && read.head.root == head.root)
            #expect(read.head.nanosecondsSinceEpoch == head.nanosecondsSinceEpoch)
            let run = decodeRun(body, others)
            guard payload == 60 else { continue }
            let event = try #require(run.events.first)
            #expect(event.sequence == head.sequence && event.settledBelow == head.settledBelow?.asWritten)
            #expect(head.nanosecondsSinceEpoch == event.nanosecondsSinceEpoch && head.name == .number(run.name))
            #expect(head.id == Self.id(of: run.source, event.number))
            #expect(event.causes.cause?.wireID == head.cause && event.causes.root?.wireID == head.root)
            #expect(event.payloadOffset == written.count)
        }
    }

    @Test("events of a third process are a run only if its source is known, and all of them have that source")
    func thirdSources() {
        let (other, unknown) = (EventSource(origin: "box", incarnation: 3), EventSource(origin: "box", incarnation: 4))
        var others = SpelledSources()
        for source in [Self.third, other] { #expect(others.spelled(source)?.source === source) }
        let same = EventSource(origin: "canvas", incarnation: Self.third.incarnation)
        #expect(others.spelled(same)?.source === Self.third)
        func frames(_ sources: [EventSource?]) -> [[UInt8]] {
            zip(UInt64(1)..., sources).map { sequence, source in
                let head = EventHead(
                    sequence: sequence,
                    id: Self.id(of: source, sequence),
                    nanosecondsSinceEpoch: 1,
                    name: .number(2)
                )
                return bodyOf(frame(head, payload: [UInt8](repeating: 0xF4, count: 60)))
            }
        }
        let cases: [(sources: [EventSource?], count: Int, source: EventSource?)] = [
            ([Self.third, Self.third, nil], 2, Self.third), ([nil, nil, Self.third], 2, nil),
            ([other, Self.third], 1, other), ([unknown, other], 0, nil), ([other, unknown], 1, other),
        ]
        for (sources, count, source) in cases {
            let run = decodeRun(frames(sources), others)
            #expect(run.events.count == count)
            #expect(run.source == source)
        }
        // Two sources of one place: after a while the second takes it.
        let rival = EventSource(origin: "box", incarnation: 3 + 64)
        for _ in 1..<64 { #expect(others.spelled(rival) == nil) }
        #expect(decodeRun(frames([other]), others).events.count == 1)
        #expect(others.spelled(rival)?.source === rival)
        #expect(decodeRun(frames([other]), others).events.isEmpty)
        #expect(decodeRun(frames([rival]), others).events.count == 1)
    }

    @Test("a frame of a third process that is cut off anywhere is never read beyond its end", arguments: [1, 30, 250])
    func cutOff(nameBytes: Int) throws {
        let source = EventSource(origin: String(repeating: "n", count: nameBytes), incarnation: .max)
        var others = SpelledSources()
        #expect(others.spelled(source) != nil)
        var head = EventHead(
            sequence: .max,
            id: Self.id(of: source, .max),
            nanosecondsSinceEpoch: .max,
            name: .number(.max)
        )
        (head.cause, head.root, head.settledBelow) = (.receiver(number: .max), .sender(number: .max), .max)
        let whole = bodyOf(frame(head, payload: [UInt8](repeating: 0xF4, count: 60)))
        let payloadOffset = whole.count - 60
        for length in 1...whole.count {
            // What lies behind the frame would make it whole.
            let run = decodeRun(Array(whole[..<length]), behind: Array(whole[length...]), others)
            guard let event = run.events.first else {
                #expect(length < whole.count)
                continue
            }
            #expect(length > payloadOffset)
            #expect(event.number == .max && event.payloadOffset == FrameDecoder.headBytes + payloadOffset)
            #expect(event.frameLength == FrameDecoder.headBytes + length)
        }
    }

    private func decodeRun(
        _ body: [UInt8],
        behind: [UInt8] = [],
        _ others: SpelledSources
    ) -> (events: [ArrivedEvent], name: UInt64, source: EventSource?) { decodeRun([body], behind: behind, others) }

    /// - Parameter behind: bytes that follow the last frame.
    private func decodeRun(
        _ bodies: [[UInt8]],
        behind: [UInt8] = [],
        _ others: SpelledSources
    ) -> (events: [ArrivedEvent], name: UInt64, source: EventSource?) {
        let frames = bodies.flatMap { body in withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) } + body }
        let bytes = frames + behind
        return withUnsafeTemporaryAllocation(of: ArrivedEvent.self, capacity: 8) { events in
            bytes.withUnsafeBytes {
                let run = EventFrame.decodeRun($0, with: FrameDecoder(limit: 4_096), others: others, into: events)
                return (Array(events[..<run.count]), run.name, run.source)
            }
        }
    }

    @Test("one option that is not the short way's, or is cut off, is read the general way")
    func otherOptions() throws {
        let head: [UInt8] = [0x87, 0x08, 0x01, 0xF6, 0x02, 0x03]
        let payload = [UInt8](repeating: 0xF4, count: 60)
        #expect(try decodeEvent(head + [0xA1, 0x01, 0x02] + payload).head.attempt == 2)
        #expect(try decodeEvent(head + [0xA1, 0x05, 0x09] + payload).head.settledBelow == 9)
        #expect(try decodeEvent(head + [0xA2, 0x02, 0x22, 0x06, 0x01] + payload).head.wantsReceipt)
        let third: [UInt8] = [0x83, 0x61, 0x61, 0x07, 0x09]
        let caused = try decodeEvent(head + [0xA1, 0x02] + third + payload).head
        #expect(caused.cause == .other(origin: "a", incarnation: 7, number: 9) && !caused.isPlain)
        // A root without a cause, options in the wrong order, one twice, a negative mark, and a text as a cause.
        #expect(try decodeEvent(head + [0xA1, 0x03, 0x09] + payload).head.root == .sender(number: 9))
        for options in [[0x03, 0x01, 0x02, 0x01], [0x02, 0x01, 0x02, 0x01], [0x02, 0x01, 0x05, 0x20]] as [[UInt8]] {
            #expect(throws: (any Error).self) { try decodeEvent(head + [0xA2] + options + payload) }
        }
        #expect(throws: (any Error).self) { try decodeEvent(head + [0xA1, 0x02, 0x60] + payload) }
        // No number, and one that ends beyond the frame.
        #expect(throws: (any Error).self) { try decodeEvent(head + [0xA1, 0x05, 0x60] + payload) }
        #expect(throws: (any Error).self) { try decodeEvent(head + [0xA1, 0x05, 0x1B, 0x00]) }
        #expect(throws: LinkViolation.self) { try decodeEvent(head + [0xA1, 0x05, 0x1B] + payload.prefix(8)) }
    }

    @Test("a receipt that names more processes than the limit is refused")
    func manyProcesses() throws {
        var limits = LinkLimits()
        limits.processNames = 2
        func receipt(_ count: Int) -> [UInt8] {
            let names = (0..<count).map { "worker \($0)" }
            return bodyOf(frame(.receipt(Receipt(id: .sender(number: 1), process: "canvas", passedOnTo: names))))
        }
        #expect(try decodeMessage(receipt(2), limits: limits) != nil)
        let error = #expect(throws: LinkViolation.self) { try decodeMessage(receipt(3), limits: limits) }
        #expect(error?.description == "a receipt names at most 2 further processes")
        let empty = bodyOf(frame(.receipt(Receipt(id: .sender(number: 1), process: ""))))
        #expect(throws: LinkViolation.self) { try decodeMessage(empty) }
    }

    @Test("of a long text for people only the beginning is kept")
    func longTexts() throws {
        let (text, short) = (String(repeating: "é", count: 100_000), String(repeating: "é", count: 1_024))
        func messages(_ text: String) -> [ControlMessage] {
            [
                .refuse(Refusal(sequence: 1, reason: 1, text: text)),
                .receipt(Receipt(id: .sender(number: 1), process: "canvas", text: text)),
                .moreTime(milliseconds: 1, reason: text),
                .goodbye(Goodbye(reason: 4, text: text, lastWritten: 0, handledMark: 0)),
                .reject(Reject(reason: 1, text: text)),
            ]
        }
        for (long, kept) in zip(messages(text), messages(short)) {
            #expect(try decodeMessage(bodyOf(frame(long))) == kept)
        }
    }

    @Test("gaps of several origins are one gap with a range for each, up to 64")
    func mergedGaps() {
        func gap(_ origin: Int, _ number: UInt64) -> Gap {
            let source = EventSource(origin: "origin \(origin)", incarnation: 1)
            return Gap(EventID(source: source, number: number), name: "a", reason: .policy)
        }
        var merged = gap(0, 5)
        for origin in 0..<70 {
            merged.merge(gap(origin, 3))
            merged.merge(gap(origin, 9))
        }
        #expect(merged.count == 141)
        #expect(merged.ranges.count == Gap.maximumRanges)
        #expect(merged.ranges.allSatisfy { $0.first.number == 3 && $0.last == 9 })
    }
}
