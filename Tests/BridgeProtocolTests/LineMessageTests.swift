import BridgeProtocol
import CBOR
import DomainEvents
import Testing

@Suite("What a line of a worker says")
struct LineMessageTests {
    private func message(_ line: String, limits: LinkLimits = LinkLimits()) throws -> LineMessage {
        try Array(line.utf8).withUnsafeBytes { try LineMessage($0, limits: limits) }
    }

    private func event(_ line: String) throws -> LineEvent {
        guard case .event(let event) = try message(line) else { throw LinkViolation("no event") }
        return event
    }

    private func hello(_ line: String, limits: LinkLimits = LinkLimits()) throws -> LineHello {
        guard case .hello(let hello) = try message(line, limits: limits) else { throw LinkViolation("no hello") }
        return hello
    }

    @Test(
        "each message is read",
        arguments: [
            (#"{"bridge":"ready"}"#, LineMessage.ready),
            (#"{"bridge":"heartbeat"}"#, .heartbeat),
            (#" { "bridge" : "ack" , "sequence" : 18446744073709551615 } "#, .acknowledge(through: .max)),
            (
                #"{"bridge":"interest","wants":["A","*"],"unwants":["B"]}"#,
                .interest(wants: ["A", "*"], unwants: ["B"])
            ),
            (#"{"bridge":"interest"}"#, .interest(wants: [], unwants: [])),
            (#"{"bridge":"more-time","milliseconds":5,"reason":"r"}"#, .moreTime(milliseconds: 5, reason: "r")),
            (#"{"bridge":"more-time"}"#, .moreTime(milliseconds: 0, reason: "")),
            (
                #"{"bridge":"refuse","sequence":3,"reason":"invalid","text":"no"}"#,
                .refuse(Refusal(sequence: 3, reason: 2, text: "no"))
            ),
            (#"{"bridge":"refuse","sequence":3}"#, .refuse(Refusal(sequence: 3, reason: 3, text: ""))),
            (#"{"bridge":"goodbye","reason":"idle","text":"t"}"#, .goodbye(reason: 3, text: "t")),
            (#"{"bridge":"goodbye","unknown":[1]}"#, .goodbye(reason: 1, text: "")),
        ]
    )
    func messages(line: String, expected: LineMessage) throws {
        #expect(try message(line) == expected)
    }

    @Test("a hello says as much or as little as it likes")
    func hellos() throws {
        let least = try hello(#"{"bridge":"hello"}"#)
        #expect(least.versions == 1...1 && least.cookie.isEmpty && least.wants.isEmpty)
        #expect(least.publishes == nil && least.window == nil && !least.acknowledgesNothing)
        let most = try hello(
            """
            {"bridge":"hello","versions":[3,1],"name":"py","cookie":"c","library":"l","wants":["A"],"publishes":["B","C"],\
            "acknowledge":"none","window":7}
            """
        )
        #expect(most.versions == 1...3 && most.name == "py" && most.cookie == "c" && most.library == "l")
        #expect(most.wants == ["A"] && most.publishes == ["B", "C"] && most.window == 7 && most.acknowledgesNothing)
        #expect(try hello(#"{"bridge":"hello","acknowledge":"explicit"}"#).acknowledgesNothing == false)
    }

    @Test("only the length of the hello bounds the names that a worker publishes")
    func publishedNames() throws {
        var limits = LinkLimits()
        limits.interestNames = 1
        let line = #"{"bridge":"hello","wants":["A"],"publishes":["B","C"]}"#
        #expect(try hello(line, limits: limits).publishes == ["B", "C"])
    }

    @Test("an event keeps what JSON says, integers to the last bit")
    func events() throws {
        let event = try event(
            """
            {"specversion":"1.0","id":"x","source":"/s","type":"Saved","time":"2026-03-21T20:04:00.5+01:00",\
            "causationid":"a-b-ff-7","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",\
            "datacontenttype":"application/json","data":{"n":18446744073709551615,"m":-18446744073709551616,"x":1.5}}
            """
        )
        #expect(event.name == "Saved")
        #expect(event.time == 1_774_119_840_500_000_000)
        #expect(event.cause == EventID(origin: "a-b", incarnation: 255, number: 7))
        #expect(event.traceparent == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        let expected = CBORValue.map([
            .init(key: .text("n"), value: .unsigned(.max)), .init(key: .text("m"), value: .negative(.max)),
            .init(key: .text("x"), value: .double(1.5)),
        ])
        #expect(try CBORValue(decoding: event.payload) == expected)
    }

    @Test("an event needs no more than its type")
    func leastEvent() throws {
        let event = try event(#"{"type":"Saved"}"#)
        #expect(event.time == nil && event.cause == nil && event.traceparent == nil && event.payload == [0xA0])
        // A text that is no trace context is ignored.
        #expect(try self.event(#"{"type":"S","traceparent":"garbage","data":[]}"#).traceparent == nil)
    }

    @Test(
        "what is wrong with a line is said, with where and what was expected",
        arguments: [
            ("nonsense", #"a line of 8 bytes is not JSON: byte 0: found "nonsense", expected a value"#),
            (#"{"a":1,}"#, #"a line of 8 bytes is not JSON: byte 7: found "}" after a comma, expected a key"#),
            (
                #"{"type":"A","data":{"n":-Infinity}}"#,
                "a line of 35 bytes is not JSON: byte 25: found Infinity, expected a finite number"
            ),
            (
                #"{"type":"A","data":{"n":1e400}}"#,
                "a line of 31 bytes is not JSON: byte 24: number out of range: found 1e400, expected one that a double can hold"
            ),
            (
                #"{"type":"A","data":{"n":-18446744073709551617}}"#,
                """
                a line of 47 bytes is not JSON: byte 24: number out of range: found -18446744073709551617, \
                expected an integer from -2^64 to 2^64 - 1
                """
            ),
            (
                #"{"type":"A","data":{"n":1,"n":2}}"#,
                #"a line of 33 bytes is not JSON: byte 26: found the key "n" a second time, it stands first at line 1, column 21"#
            ),
            (#"{"type":""}"#, "a name has 1 to 256 bytes; this one has 0"),
            (#"{"type":"*"}"#, #"no event has the name "*", by which a subscriber asks for all events"#),
            (
                #"{"bridge":"hello","publishes":["A","*"]}"#,
                #"no event has the name "*", by which a subscriber asks for all events"#
            ),
            ("[1]", "a line holds an array, expected an object"),
            (#"{"a":1}"#, #"a line has neither "type", as an event has, nor "bridge", as a message has"#),
            (
                #"{"bridge":"akc","sequence":1}"#,
                #"in a line, bridge: found the string "akc", expected the name of a message; did you mean "ack"?"#
            ),
            (#"{"bridge":7}"#, "in a line, bridge: found the number 7, expected the name of a message"),
            (#"{"bridge":"ack"}"#, #"a line of ack has no "sequence", expected the sequence of an event"#),
            (#"{"bridge":"ack","sequence":-1}"#, "in a line of ack, sequence: found the number -1, expected a number"),
            (
                #"{"bridge":"hello","wants":"A"}"#,
                #"in a line of hello, wants: found the string "A", expected an array of texts"#
            ),
            (
                #"{"bridge":"hello","wants":[1]}"#,
                "in a line of hello, wants: found the number 1, expected texts only"
            ),
            (#"{"bridge":"hello","wants":[""]}"#, "a name has 1 to 256 bytes; this one has 0"),
            (
                #"{"bridge":"hello","acknowledge":"nine"}"#,
                #"in a line of hello, acknowledge: found the string "nine", expected explicit or none; did you mean "none"?"#
            ),
            (
                #"{"bridge":"hello","window":0}"#,
                "in a line of hello, window: found the number 0, expected a number of events, at least 1"
            ),
            (
                #"{"bridge":"hello","versions":[]}"#,
                "in a line of hello, versions: found an empty array, expected an array of numbers"
            ),
            (
                #"{"type":"A","specversion":"0.3"}"#,
                #"in an event, specversion: found the string "0.3", expected "1.0""#
            ),
            (
                #"{"type":"A","time":"yesterday"}"#,
                #"in an event, time: found the string "yesterday", expected a time since 1970 such as 2026-03-21T20:04:00Z"#
            ),
            (
                #"{"type":"A","causationid":"x"}"#,
                #"in an event, causationid: found the string "x", expected the id of an event that came over this link, as it was written there"#
            ),
            (#"{"type":5}"#, "in an event, type: found the number 5, expected the name of an event"),
            (
                #"{"type":"A","data_base64":"AA=="}"#,
                #"in an event, data_base64: found bytes, expected the event's fields as "data""#
            ),
        ]
    )
    func mistakes(line: String, sentence: String) {
        #expect(throws: LinkViolation(sentence)) { try message(line) }
    }

    @Test("nesting and the number of values are limited")
    func limits() throws {
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        let tooDeep = #expect(throws: LinkViolation.self) { try message(#"{"type":"A","data":"# + deep + "}") }
        #expect(tooDeep?.description.contains("nested deeper than 64") == true)
        let many = "[" + Array(repeating: "1", count: 1 << 18).joined(separator: ",") + "]"
        let tooMany = #expect(throws: LinkViolation.self) { try message(#"{"type":"A","data":"# + many + "}") }
        #expect(tooMany?.description.contains("one more value than a text may hold") == true)
    }

    @Test(
        "an identifier's text is read as what it was written from, and no other text is",
        arguments: [
            ("host-ff-1", EventID(origin: "host", incarnation: 255, number: 1)), ("host-ff-01", nil),
            ("host-FF-1", nil), ("host-+f-1", nil), ("-ff-1", nil), ("ff-1", nil), ("host-ff-", nil), ("", nil),
            ("a--0-0", EventID(origin: "a-", incarnation: 0, number: 0)), ("host-0f-1", nil), ("host-ff-00", nil),
            ("host-ff-a", nil), ("host-fg-1", nil), ("host-ff-18446744073709551616", nil),
            ("host-10000000000000000-1", nil),
            (
                "host-ffffffffffffffff-18446744073709551615",
                EventID(origin: "host", incarnation: .max, number: .max)
            ),
        ] as [(String, EventID?)]
    )
    func identifiers(text: String, id: EventID?) {
        #expect(EventID(text) == id)
    }
}
