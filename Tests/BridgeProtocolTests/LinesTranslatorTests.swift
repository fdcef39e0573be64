import BridgeProtocol
import CBOR
import DomainEvents
import TestSupport
import Testing

@Suite("Between lines and frames")
struct LinesTranslatorTests {
    /// A worker's side in lines and its host's side in frames.
    private struct Conversation {
        var translator: LinesTranslator
        private let frames = CBORBuffer()
        let limits: LinkLimits

        init(limits: LinkLimits = LinkLimits(), hello: String? = #"{"bridge":"hello"}"#) throws {
            self.limits = limits
            translator = LinesTranslator(peerName: "py", limits: limits)
            guard let hello else { return }
            _ = try say(hello)
            _ = try hear(
                .welcome(
                    Welcome(
                        version: 1,
                        library: "test",
                        hostIncarnation: 0xAA,
                        workerIncarnation: 0xBB,
                        windowBytes: 1,
                        windowEvents: 1,
                        frameBytes: 500,
                        heartbeatMilliseconds: 0
                    )
                )
            )
        }

        /// The bodies of the frames that a line of the worker becomes.
        mutating func say(_ line: String) throws -> [[UInt8]] {
            frames.removeAll()
            let message = try Array(line.utf8).withUnsafeBytes { try LineMessage($0, limits: limits) }
            try translator.received(message, at: 77, into: frames)
            var bodies: [[UInt8]] = []
            var rest = frames.copied()
            let decoder = FrameDecoder(limit: 1 << 30)
            while case .frame(let length) = try rest.withUnsafeBytes({ try decoder.next(in: $0) }) {
                bodies.append(Array(rest[FrameDecoder.headBytes..<length]))
                rest.removeFirst(length)
            }
            #expect(rest.isEmpty)
            return bodies
        }

        mutating func messages(_ line: String) throws -> [ControlMessage?] {
            try say(line).map { try decodeMessage($0) }
        }

        /// The lines that a frame of the host becomes.
        mutating func hear(frame: [UInt8]) throws -> [String] {
            var lines: [UInt8] = []
            try bodyOf(frame).withUnsafeBytes { try translator.sent($0, into: &lines) }
            #expect(lines.isEmpty || lines.last == UInt8(ascii: "\n"))
            return String(decoding: lines, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        mutating func hear(_ message: ControlMessage) throws -> [String] {
            try hear(frame: TestSupport.frame(message))
        }

        mutating func hear(
            event sequence: UInt64,
            payload: [UInt8] = [0xA0],
            change: (inout EventHead) -> Void = { _ in }
        ) throws -> [String] {
            var head = EventHead(
                sequence: sequence,
                id: .sender(number: sequence + 100),
                nanosecondsSinceEpoch: 1_700_000_000_000_000_000,
                name: .text("Saved")
            )
            change(&head)
            return try hear(frame: TestSupport.frame(head, payload: payload))
        }
    }

    private static func acknowledge(_ mark: UInt64, _ ranges: ClosedRange<UntrustedNumber>...) -> ControlMessage {
        .acknowledge(Acknowledgement(mark: mark, ranges: ranges), incarnation: 0xBB)
    }

    // MARK: - Messages

    @Test("a hello becomes one with the host's own window, and what it wants an interest")
    func hello() throws {
        var talk = try Conversation(hello: nil)
        let said = try talk.messages(
            #"{"bridge":"hello","name":"n","cookie":"c","library":"l","wants":["A","*"],"window":9}"#
        )
        let limits = LinkLimits()
        var hello = Hello(
            name: "n",
            cookie: "c",
            library: "l",
            windowBytes: UInt64(limits.windowBytes),
            windowEvents: 9,
            frameBytes: UInt64(LinkLimits.greatestFrameBytes)
        )
        let interest = Interest(wanted: [.init(number: 1, name: "A"), .init(number: 0, name: "*")])
        #expect(said == [.hello(hello), .interest(interest)])
        hello.windowEvents = 4_096
        hello.features = .acknowledgesNothing
        var silent = try Conversation(hello: nil)
        #expect(
            try silent.messages(
                #"{"bridge":"hello","name":"n","cookie":"c","library":"l","acknowledge":"none","window":99999}"#
            ) == [.hello(hello), .interest(Interest())]
        )
    }

    @Test("each message of the worker becomes its frame")
    func fromWorker() throws {
        var talk = try Conversation()
        #expect(try talk.messages(#"{"bridge":"ready"}"#) == [.ready])
        #expect(try talk.messages(#"{"bridge":"heartbeat"}"#) == [.heartbeat])
        #expect(
            try talk.messages(#"{"bridge":"more-time","milliseconds":5,"reason":"r"}"#)
                == [.moreTime(milliseconds: 5, reason: "r")]
        )
        #expect(
            try talk.messages(#"{"bridge":"interest","wants":["A","B"]}"#)
                == [.interest(Interest(wanted: [.init(number: 1, name: "A"), .init(number: 2, name: "B")]))]
        )
        // A name keeps its number, wanted or not.
        #expect(
            try talk.messages(#"{"bridge":"interest","wants":["C","A"],"unwants":["B"]}"#)
                == [
                    .interest(
                        Interest(wanted: [.init(number: 3, name: "C"), .init(number: 1, name: "A")], unwanted: [2])
                    )
                ]
        )
        _ = try talk.say(#"{"type":"X"}"#)
        #expect(
            try talk.messages(#"{"bridge":"goodbye","reason":"idle","text":"t"}"#)
                == [.goodbye(Goodbye(reason: 3, text: "t", lastWritten: 1, handledMark: 0))]
        )
    }

    @Test("each message of the host becomes its line, or none")
    func fromHost() throws {
        var talk = try Conversation(hello: nil)
        _ = try talk.say(#"{"bridge":"hello"}"#)
        #expect(!talk.translator.isWelcomed)
        let welcome = sampleMessages.compactMap { message -> Welcome? in
            if case .welcome(let welcome) = message { welcome } else { nil }
        }
        #expect(
            try talk.hear(.welcome(try #require(welcome.last)))
                == [
                    #"{"bridge":"welcome","version":1,"library":"event-bridge 1.0","incarnation":"123456789abcdef","limit":16777216}"#
                ]
        )
        #expect(talk.translator.isWelcomed)
        #expect(
            try talk.hear(.reject(Reject(reason: 2, text: "no")))
                == [#"{"bridge":"reject","reason":"cookie","text":"no"}"#]
        )
        let interest = Interest(wanted: [.init(number: 4, name: "A"), .init(number: 5, name: "B")])
        #expect(try talk.hear(.interest(interest)) == [#"{"bridge":"interest","wants":["A","B"],"unwants":[]}"#])
        #expect(
            try talk.hear(.interest(Interest(unwanted: [5])))
                == [#"{"bridge":"interest","wants":[],"unwants":["B"]}"#]
        )
        #expect(
            try talk.hear(.refuse(Refusal(sequence: 2, reason: 4, text: "may not")))
                == [#"{"bridge":"refuse","sequence":2,"reason":"forbidden","text":"may not"}"#]
        )
        #expect(try talk.hear(.drain(graceMilliseconds: 50)) == [#"{"bridge":"drain","milliseconds":50}"#])
        #expect(
            try talk.hear(.goodbye(Goodbye(reason: 4, text: "why", lastWritten: 0, handledMark: 0)))
                == [#"{"bridge":"goodbye","reason":"violation","text":"why"}"#]
        )
        #expect(try talk.hear(.heartbeat).isEmpty)
        #expect(try talk.hear(.receipt(Receipt(id: .sender(number: 1), process: "p"))).isEmpty)
        #expect(try talk.hear(.acknowledge(Acknowledgement(mark: 0), incarnation: 1)).isEmpty)
    }

    @Test("the host may want more names than a worker")
    func manyNames() throws {
        var talk = try Conversation()
        let names = (1...20_000).map { Interest.Name(number: UInt64($0), name: "N\($0)") }
        #expect(try talk.hear(.interest(Interest(wanted: names))).count == 1)
    }

    // MARK: - Events to the worker

    @Test("an event becomes a CloudEvent, with all that the frame says")
    func eventToWorker() throws {
        var talk = try Conversation()
        _ = try talk.say(#"{"bridge":"interest","wants":["Named"]}"#)
        #expect(
            try talk.hear(event: 1)
                == [
                    """
                    {"specversion":"1.0","id":"host-aa-101","source":"host","type":"Saved",\
                    "time":"2023-11-14T22:13:20Z","sequence":1,"attempt":1,"data":{}}
                    """
                ]
        )
        let payload = CBORValue.map([
            .init(key: .text("n"), value: .unsigned(.max)), .init(key: .text("b"), value: .bytes([1, 2, 3])),
            .init(key: .text("d"), value: .tagged(1, .unsigned(0))),
            .init(key: .text("u"), value: .tagged(37, .bytes(Array(repeating: 0xAB, count: 16)))),
            .init(key: .text("s"), value: .text("a\nb")),
        ])
        #expect(
            try talk.hear(event: 2, payload: payload.encoded()) {
                $0.id = .other(origin: "canvas", incarnation: 1, number: 2)
                $0.name = .number(1)
                $0.attempt = 3
                $0.cause = .receiver(number: 9)
                $0.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            } == [
                #"{"specversion":"1.0","id":"canvas-1-2","source":"canvas","type":"Named","#
                    + #""time":"2023-11-14T22:13:20Z","sequence":2,"attempt":3,"causationid":"py-bb-9","#
                    + #""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","#
                    + #""data":{"n":18446744073709551615,"b":"AQID","d":"1970-01-01T00:00:00Z","#
                    + #""u":"ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB","s":"a\nb"}}"#
            ]
        )
    }

    @Test("a payload that is no CBOR goes as it is")
    func noCBOR() throws {
        var talk = try Conversation()
        let line = try #require(try talk.hear(event: 1, payload: [0xFF, 0x00]).first)
        #expect(line.hasSuffix(#""datacontenttype":"application/cbor","data_base64":"/wA="}"#))
    }

    // MARK: - Acknowledging

    @Test("an ack settles all up to its event, and gives a waiting caller its receipt")
    func acknowledging() throws {
        var talk = try Conversation()
        for sequence: UInt64 in 1...3 {
            _ = try talk.hear(event: sequence) { $0.wantsReceipt = sequence == 2 }
        }
        let receipt = ControlMessage.receipt(Receipt(id: .receiver(number: 102), process: "py", handlers: 1))
        #expect(try talk.messages(#"{"bridge":"ack","sequence":2}"#) == [receipt, Self.acknowledge(2)])
        // A second acknowledgement changes nothing.
        #expect(try talk.messages(#"{"bridge":"ack","sequence":1}"#).isEmpty)
        #expect(try talk.messages(#"{"bridge":"ack","sequence":3}"#) == [Self.acknowledge(3)])
        #expect(throws: LinkViolation("acknowledged event 4, but 3 is the newest that it was sent")) {
            try talk.say(#"{"bridge":"ack","sequence":4}"#)
        }
    }

    @Test("a refusal settles its own event only")
    func refusing() throws {
        var talk = try Conversation()
        for sequence: UInt64 in 1...3 { _ = try talk.hear(event: sequence) { $0.wantsReceipt = true } }
        let refusal = ControlMessage.refuse(Refusal(sequence: 2, reason: 3, text: "no"))
        #expect(
            try talk.messages(#"{"bridge":"refuse","sequence":2,"text":"no"}"#)
                == [refusal, Self.acknowledge(0, 2...2)]
        )
        let said = try talk.messages(#"{"bridge":"ack","sequence":3}"#)
        #expect(
            said == [
                .receipt(Receipt(id: .receiver(number: 101), process: "py", handlers: 1)),
                .receipt(Receipt(id: .receiver(number: 103), process: "py", handlers: 1)), Self.acknowledge(3),
            ]
        )
    }

    @Test("a gap is told, and acknowledged like an event")
    func gap() throws {
        var talk = try Conversation()
        let buffer = CBORBuffer()
        GapFrame(sequence: 1, name: .text("Saved"), count: 12, reason: 2, ranges: []).encode(into: buffer)
        #expect(
            try talk.hear(frame: buffer.copied())
                == [#"{"bridge":"gap","sequence":1,"type":"Saved","count":12,"reason":"full"}"#]
        )
        #expect(try talk.messages(#"{"bridge":"ack","sequence":1}"#) == [Self.acknowledge(1)])
    }

    @Test("a worker that says it acknowledges nothing may not acknowledge", arguments: ["ack", "refuse"])
    func acknowledgesNothing(word: String) throws {
        var talk = try Conversation(hello: #"{"bridge":"hello","acknowledge":"none"}"#)
        for sequence: UInt64 in 1...10_000 { _ = try talk.hear(event: sequence) }
        #expect(
            throws: LinkViolation("a line of \(word) came from a worker that acknowledges nothing, as its hello says")
        ) { try talk.say(#"{"bridge":"\#(word)","sequence":1}"#) }
    }

    // MARK: - Events of the worker

    @Test("an event of the worker gets number, identity and time")
    func eventFromWorker() throws {
        var talk = try Conversation()
        let first = try decodeEvent(try #require(try talk.say(#"{"type":"A","data":{"x":1}}"#).first))
        var head = EventHead(sequence: 1, id: .sender(number: 1), nanosecondsSinceEpoch: 77, name: .text("A"))
        #expect(first.head == head)
        #expect(first.payload == [0xA1, 0x61, 0x78, 0x01])
        let second = try decodeEvent(
            try #require(try talk.say(#"{"type":"A","id":"mine","source":"x","time":"1970-01-01T00:00:01Z"}"#).first)
        )
        head.sequence = 2
        head.id = .sender(number: 2)
        head.nanosecondsSinceEpoch = 1_000_000_000
        #expect(second.head == head)
    }

    @Test("a cause is named by the id that was written, and what caused it goes on")
    func causes() throws {
        var talk = try Conversation()
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        _ = try talk.hear(event: 1) {
            $0.cause = .receiver(number: 3)
            $0.root = .other(origin: "canvas", incarnation: 2, number: 1)
            $0.traceparent = trace
        }
        func cause(_ id: String) throws -> EventHead {
            try decodeEvent(try #require(try talk.say(#"{"type":"A","causationid":"\#(id)"}"#).first)).head
        }
        let known = try cause("host-aa-101")
        #expect(known.cause == .receiver(number: 101))
        #expect(known.root == .other(origin: "canvas", incarnation: 2, number: 1))
        #expect(known.traceparent == trace)
        _ = try talk.say(#"{"bridge":"ack","sequence":1}"#)
        let settled = try cause("host-aa-101")
        #expect(settled.cause == .receiver(number: 101) && settled.root == nil && settled.traceparent == nil)
        #expect(try cause("py-bb-1").cause == .sender(number: 1))
        #expect(try cause("other-1-2").cause == .other(origin: "other", incarnation: 1, number: 2))
    }

    @Test("how much a worker may have sent is bounded, and what the host has handled makes room")
    func room() throws {
        var limits = LinkLimits()
        limits.outboxHardBytes = 1_000
        var talk = try Conversation(limits: limits)
        var sent = 0
        while talk.translator.hasRoom {
            _ = try talk.say(#"{"type":"A"}"#)
            sent += 1
        }
        // The events count 256 bytes each.
        #expect(sent == 4)
        _ = try talk.hear(.acknowledge(Acknowledgement(mark: 1), incarnation: 0xAA))
        #expect(talk.translator.hasRoom)
        _ = try talk.hear(.acknowledge(Acknowledgement(mark: 99), incarnation: 0xAA))
        #expect(talk.translator.hasRoom)
    }

    @Test("what a worker may not say is named")
    func violations() throws {
        var silent = try Conversation(hello: nil)
        #expect(throws: LinkViolation("its first line is not its hello")) { try silent.say(#"{"type":"A"}"#) }
        var talk = try Conversation(hello: #"{"bridge":"hello","publishes":["B"]}"#)
        #expect(throws: LinkViolation(#"it published "A", which its hello does not name"#)) {
            try talk.say(#"{"type":"A"}"#)
        }
        // Equal as texts.
        for (published, event) in [("K", "\u{212A}"), ("\u{E9}", "e\u{301}")] {
            var talk = try Conversation(hello: #"{"bridge":"hello","publishes":["\#(published)"]}"#)
            #expect(throws: LinkViolation.self) { try talk.say(#"{"type":"\#(event)"}"#) }
            #expect(throws: LinkViolation.self) {
                _ = try talk.say(#"{"bridge":"interest","wants":["\#(published)"]}"#)
                _ = try talk.say(#"{"bridge":"interest","unwants":["\#(event)"]}"#)
            }
        }
        #expect(throws: LinkViolation(#""Z" is no longer wanted, but was not before"#)) {
            try talk.say(#"{"bridge":"interest","unwants":["Z"]}"#)
        }
        var few = LinkLimits()
        few.interestNames = 3
        var eager = try Conversation(limits: few, hello: #"{"bridge":"hello","wants":["A","B"]}"#)
        #expect(throws: LinkViolation("in a line of interest, wants: found 4 texts; the limit is 3")) {
            try eager.say(#"{"bridge":"interest","wants":["A","B","C","D"]}"#)
        }
        _ = try eager.say(#"{"bridge":"interest","wants":["B","C"]}"#)
        #expect(throws: LinkViolation("interest in more than 3 names")) {
            try eager.say(#"{"bridge":"interest","wants":["D"]}"#)
        }
        _ = try talk.say(#"{"bridge":"goodbye"}"#)
        #expect(throws: LinkViolation("a line came after its goodbye")) { try talk.say(#"{"type":"B"}"#) }
        var limits = LinkLimits()
        limits.frameBytes = 100
        var small = try Conversation(limits: limits)
        let numbers = Array(repeating: "0.1", count: 12).joined(separator: ",")
        let large = #expect(throws: LinkViolation.self) { try small.say(#"{"type":"A","data":[\#(numbers)]}"#) }
        #expect(large?.description.contains("bytes in CBOR; the limit is 100 bytes") == true)
    }

    @Test("A bookmark passes as a text both ways, and only a worker that has asked hears of bookmarks")
    func bookmarks() throws {
        func welcome(_ features: LinkFeatures, _ bookmark: [UInt8]?) -> ControlMessage {
            .welcome(
                Welcome(
                    version: 1,
                    library: "test",
                    hostIncarnation: 0xAA,
                    workerIncarnation: 0xBB,
                    windowBytes: 1,
                    windowEvents: 1,
                    frameBytes: 500,
                    heartbeatMilliseconds: 0,
                    features: features,
                    bookmark: bookmark
                )
            )
        }
        let cases: [(features: LinkFeatures, bookmark: [UInt8]?, members: String)] = [
            ([], nil, #","bookmarks":false"#), (.bookmarks, nil, #","bookmarks":true"#),
            (.bookmarks, Array("17 ü".utf8), #","bookmarks":true,"bookmark":"17 ü""#),
            (.bookmarks, [0xFF, 0], #","bookmarks":true,"bookmark_base64":"/wA=""#),
        ]
        for (features, bookmark, members) in cases {
            for asks in [true, false] {
                var talk = try Conversation(hello: nil)
                let hello = try talk.messages(#"{"bridge":"hello","bookmarks":\#(asks)}"#)
                guard case .hello(let said) = hello[0] else { throw LinkViolation("no hello") }
                #expect(said.features == (asks ? .bookmarks : []))
                let line = try #require(try talk.hear(welcome(features, bookmark)).first)
                #expect(line.hasSuffix(#""limit":500\#(asks ? members : "")}"#))
            }
        }
        var talk = try Conversation()
        let event = try decodeEvent(try #require(talk.say(#"{"type":"BoxSaved","bookmark":"17 ü"}"#).first))
        #expect(event.head.bookmark == Array("17 ü".utf8))
        for (line, words) in [
            (#"{"type":"BoxSaved","bookmark":17}"#, "expected a text"),
            (#"{"type":"BoxSaved","bookmark":"\#(String(repeating: "x", count: 257))"}"#, "256 are the most"),
            (#"{"bridge":"hello","bookmarks":1}"#, "expected true or false"),
        ] {
            let violation = #expect(throws: LinkViolation.self) { try talk.say(line) }
            #expect("\(try #require(violation))".contains(words))
        }
    }
}
