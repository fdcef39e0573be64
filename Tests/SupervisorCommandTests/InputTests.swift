import BridgePlatform
import CBOR
import DomainEvents
import Testing

@testable import SupervisorConfiguration
@testable import supervisor

@Suite("Lines of input")
struct InputTests {
    private func event(_ line: String) throws(InputMistake) -> InputEvent {
        try InputEvent(line: Array(line.utf8))
    }

    private func mistake(_ line: String) -> String? {
        do {
            _ = try event(line)
            return nil
        } catch {
            return error.description(file: "in.jsonl", line: 7)
        }
    }

    @Test("become an event's name and its fields in CBOR, with integers to the last bit")
    func readsEvent() throws {
        let event = try event(
            #"{"type": "BoxOrdered", "data": {"id": 18446744073709551615, "low": -9223372036854775808, "n": null}}"#
        )
        #expect(event.name == "BoxOrdered")
        let fields: CBORValue = .map([
            .init(key: .text("id"), value: .unsigned(.max)),
            .init(key: .text("low"), value: .negative(UInt64(Int64.max))),
            .init(key: .text("n"), value: .null),
        ])
        #expect(try CBORValue(decoding: event.payload) == fields)
    }

    @Test("may have the other attributes of a printed event")
    func ignoresAttributes() throws {
        let line = """
            {"specversion":"1.0","id":"a-1-2","source":"a","type":"E","time":"2026-01-01T00:00:00Z","attempt":1,\
            "sequence":7,"replay":true,"bookmark":"x","bookmark_base64":"eA==",\
            "causationid":"b-1-2","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","data":{}}
            """
        let traceparent = try #require(Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        let found = try event(line)
        #expect(found.name == "E" && found.payload == [0xA0] && found.traceparent == traceparent)
    }

    @Test(
        "that are wrong are named with place, what was found and what was expected",
        arguments: [
            ("not json", "in.jsonl:7:1: found \"not\", expected a value"),
            ("[]", "in.jsonl:7: found an empty array, expected an object such as {\"type\": …, \"data\": {…}}"),
            ("{}", "in.jsonl:7: the key \"type\" is missing, expected the name of an event"),
            (#"{"type":5,"data":{}}"#, "in.jsonl:7:9: type: found the number 5, expected the name of an event"),
            (#"{"type":"","data":{}}"#, "in.jsonl:7:9: type: found an empty string, expected the name of an event"),
            (#"{"type":"E"}"#, "in.jsonl:7: the key \"data\" is missing, expected an object with the fields of \"E\""),
            (
                #"{"type":"E","data":[1]}"#,
                "in.jsonl:7:20: data: found an array, expected an object with the event's fields"
            ),
            (
                #"{"type":"E","data":{},"traceparent":"00-1"}"#,
                """
                in.jsonl:7:37: traceparent: found the string "00-1", expected a W3C trace context such as \
                00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
                """
            ),
            (#"{"type":"E","dta":{}}"#, "in.jsonl:7:13: found the unknown key \"dta\"; did you mean \"data\"?"),
        ]
    )
    func namesMistakes(line: String, sentence: String) {
        #expect(mistake(line) == sentence)
    }

    @Test("come out the same however the file is cut into chunks")
    func anyChunks() throws {
        let text = Array("one\n\ntwo\r\nthree".utf8)
        for size in 1...text.count {
            var rest = text[...]
            var reader = LineReader { () throws(SystemFileError) in
                defer { rest = rest.dropFirst(size) }
                return Array(rest.prefix(size))
            }
            var lines: [String] = []
            while case .line(let bytes)? = try reader.next() { lines.append(String(decoding: bytes, as: UTF8.self)) }
            #expect(lines == ["one", "", "two\r", "three"])
        }
    }

    @Test("longer than the limit are left out, and the next one is read")
    func tooLong() throws {
        var chunks = ["abc", "de", "f\nabcde\n", "abcdef"].map { Array($0.utf8) }[...]
        var reader = LineReader(greatestLength: 5) { () throws(SystemFileError) in chunks.popFirst() ?? [] }
        #expect(try reader.next() == .tooLong)
        #expect(try reader.next() == .line(Array("abcde".utf8)))
        #expect(try reader.next() == .tooLong)
        #expect(try reader.next() == nil)
        #expect(try reader.next() == nil)
    }

    @Test("are found by the number of their event, the last ones at least")
    func findsLines() {
        let lines = InputLines(kept: 3)
        let source = EventSource(origin: "host", incarnation: 1)
        for line in 1...7 { lines.add(EventID(source: source, number: UInt64(line * 2)), line: line) }
        #expect(
            (1...16).map { lines.line(of: $0) } == [
                nil, nil, nil, nil, nil, nil, nil, nil, nil, 5, nil, 6, nil, 7, nil, nil,
            ]
        )
    }
}
