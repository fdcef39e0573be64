import BridgeProtocol
import CBOR
import TestSupport
import Testing

/// Event heads that together have every form of every part.
let sampleEvents: [EventHead] = {
    var plain = EventHead(
        sequence: 7,
        id: .sender(number: 7),
        nanosecondsSinceEpoch: 1_790_000_000_123_456_789,
        name: .number(3)
    )
    let short = plain
    plain.sequence = 8
    var named = EventHead(sequence: 1, id: .receiver(number: 0), nanosecondsSinceEpoch: 0, name: .text("Box\u{E9}"))
    named.attempt = 2
    var full = EventHead(
        sequence: .max,
        id: .other(origin: "canvas", incarnation: .max, number: 12),
        nanosecondsSinceEpoch: .max,
        name: .number(.max)
    )
    full.attempt = UntrustedNumber(.max)
    full.cause = .receiver(number: .max)
    full.root = .other(origin: "host", incarnation: 0, number: .max)
    full.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    full.settledBelow = 9
    var caused = short
    caused.cause = .sender(number: 6)
    caused.settledBelow = 0
    return [short, plain, named, full, caused]
}()

@Suite("Event frames")
struct EventFrameTests {
    private let payload: [UInt8] = [0xA1, 0x61, 0x61, 0x01]

    private func refusal(_ body: [UInt8], limits: LinkLimits = LinkLimits()) -> String {
        do {
            return "accepted: \(try decodeEvent(body, limits: limits).head)"
        } catch {
            return String(describing: error)
        }
    }

    @Test("every head comes back as it was, with its payload", arguments: sampleEvents)
    func roundTrip(head: EventHead) throws {
        let whole = frame(head, payload: payload)
        #expect(
            try whole.withUnsafeBytes { try FrameDecoder(limit: 1 << 16).next(in: $0) } == .frame(length: whole.count)
        )
        let decoded = try decodeEvent(bodyOf(whole))
        #expect(decoded.head == head)
        #expect(decoded.payload == payload)
        #expect(bodyOf(whole).withUnsafeBytes { ControlMessage.kind(of: $0) } == FrameKind.event.rawValue)
    }

    @Test("an event that its sender offered as its first few costs few bytes beside its payload")
    func smallHead() {
        #expect(frame(sampleEvents[0], payload: payload).count - payload.count == 4 + 2 + 1 + 1 + 9 + 1 + 1)
    }

    @Test("a frame cut short at any byte of its head is refused", arguments: sampleEvents)
    func truncations(head: EventHead) {
        let whole = bodyOf(frame(head, payload: []))
        for count in 0...whole.count {
            #expect(throws: (any Error).self) { try decodeEvent(Array(whole[..<count])) }
        }
    }

    @Test("the payload is not looked at, so that it can be passed on as it is")
    func payloadIsOpaque() throws {
        #expect(try decodeEvent(bodyOf(frame(sampleEvents[0], payload: [0xFF, 0xFF]))).payload == [0xFF, 0xFF])
    }

    @Test("a payload that has not been appended yet is counted by the frame's length")
    func payloadIsCounted() {
        let buffer = CBORBuffer()
        EventFrame.encodeHead(sampleEvents[0], payloadBytes: 1_000_000, into: buffer)
        let declared = buffer.copied()[..<4].reduce(0) { $0 << 8 | Int($1) }
        #expect(declared == buffer.count - 4 + 1_000_000)
    }

    private func event(_ options: (CBORWriter) -> Void) -> [UInt8] {
        body { writer in
            writer.arrayHead(7)
            for number: UInt64 in [8, 1] { writer.unsigned(number) }
            writer.null()
            writer.unsigned(5)
            writer.text("a")
            options(writer)
            writer.mapHead(0)
        }
    }

    @Test("options that are not known are skipped")
    func unknownOptions() throws {
        let grown = event { writer in
            writer.mapHead(3)
            writer.unsigned(1)
            writer.unsigned(4)
            writer.unsigned(8)
            writer.arrayHead(1)
            writer.text("later")
            writer.unsigned(.max)
            writer.bool(true)
        }
        let decoded = try decodeEvent(grown)
        #expect(decoded.head.attempt == 4)
        #expect(decoded.payload == [0xA0])
    }

    @Test("an empty map of options is as good as none")
    func emptyOptions() throws {
        #expect(try decodeEvent(event { $0.mapHead(0) }).head == decodeEvent(event { $0.null() }).head)
    }

    @Test("options out of order, twice, of the wrong type, without a count, or an attempt of 0 are refused")
    func badOptions() {
        func options(_ pairs: [(UInt64, UInt64)]) -> String {
            refusal(
                event { writer in
                    writer.mapHead(pairs.count)
                    for (key, value) in pairs {
                        writer.unsigned(key)
                        writer.unsigned(value)
                    }
                }
            )
        }
        #expect(options([(1, 2), (5, 1)]).hasPrefix("accepted"))
        #expect(options([(5, 1), (1, 2)]).contains("ascending"))
        #expect(options([(1, 1), (1, 2)]).contains("ascending"))
        #expect(options([(0, 1)]).contains("ascending"))
        #expect(options([(1, 0)]) == "attempts are counted from 1")
        #expect(options([(4, 1)]).contains("Expected a text string"))
        #expect(refusal(event { $0.unsigned(1) }).contains("Expected a map"))
        #expect(
            refusal(
                event { writer in
                    writer.buffer.append(0xBF)
                    writer.buffer.append(0xFF)
                }
            ).contains("a map with a count")
        )
    }

    @Test("another number of elements is refused", arguments: [6, 8] as [UInt8])
    func wrongCount(count: UInt8) {
        var other = bodyOf(frame(sampleEvents[0], payload: payload))
        other[0] = 0x80 | count
        #expect(refusal(other) == "an event frame has 7 elements; this one has \(count) count")
    }

    @Test("identifiers with other than three parts, and names that are too long or empty, are refused")
    func badIdentifiersAndNames() {
        func event(id: (CBORWriter) -> Void, name: String = "a") -> [UInt8] {
            body { writer in
                writer.arrayHead(7)
                for number: UInt64 in [8, 1] { writer.unsigned(number) }
                id(writer)
                writer.unsigned(5)
                writer.text(name)
                writer.null()
                writer.mapHead(0)
            }
        }
        func other(_ origin: String) -> (CBORWriter) -> Void {
            { writer in
                writer.arrayHead(3)
                writer.text(origin)
                writer.unsigned(1)
                writer.unsigned(2)
            }
        }
        #expect(refusal(event(id: other("a"))).hasPrefix("accepted"))
        #expect(refusal(event(id: { $0.arrayHead(2) })).contains("three parts"))
        #expect(refusal(event(id: { $0.text("x") })).contains("Expected an unsigned integer"))
        #expect(refusal(event(id: other(""))).contains("this one has 0"))
        #expect(refusal(event(id: other(String(repeating: "x", count: 257)))).contains("this one has 257"))
        #expect(refusal(event(id: { $0.null() }, name: "")).contains("this one has 0"))
        #expect(refusal(event(id: { $0.null() }, name: "*")).contains("no event has the name \"*\""))
        #expect(
            refusal(event(id: { $0.null() }, name: String(repeating: "x", count: 257))).contains("this one has 257")
        )
    }

    @Test("another kind of frame is no event")
    func otherKind() {
        var other = bodyOf(frame(sampleEvents[0], payload: payload))
        other[1] = 9
        #expect(refusal(other) == "frame kind 9 is not an event")
    }
}
