import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

/// A peer that speaks in lines, by hand.
private final class LinesPeer: Sendable {
    private let stream: any ByteStream
    private let held = Shared<[UInt8]>([])

    init(_ stream: any ByteStream) {
        self.stream = stream
    }

    func send(_ text: String) { ManualPeer(stream).send(Array(text.utf8)) }

    func say(_ line: String) { send(line + "\n") }

    /// The next line; nil at the end.
    func receive() -> String? {
        while true {
            var found: String?
            held.change { bytes in
                guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return }
                found = String(decoding: bytes[..<end], as: UTF8.self)
                bytes.removeFirst(end + 1)
            }
            if let found { return found }
            let (outcome, bytes) = stream.read()
            guard case .transferred = outcome else { return nil }
            held.change { $0 += bytes }
        }
    }

    /// The next line with this beginning; lines before it are passed over.
    func receive(beginning prefix: String) -> String? {
        while let line = receive() {
            if line.hasPrefix(prefix) { return line }
        }
        return nil
    }

    func close() { stream.close() }
}

/// A host's link whose peer speaks in lines.
@Suite("A link and a peer that speaks in lines", .timeLimit(.minutes(5)))
struct LinesStreamTests {
    private static let hello = #"{"bridge":"hello","name":"canvas","cookie":"secret","wants":["BoxSaved"]}"#

    private struct Fixture {
        let poller: Poller
        let link: Link
        let delegate: RecordingDelegate
        let peer: LinesPeer
        let unconfirmed = Shared<[EventID]>([])

        init(
            _ carrier: Carrier = .memory,
            limits: LinkLimits = LinkLimits(),
            says hello: String? = LinesStreamTests.hello,
            wrap: (any ByteStream, Poller) -> any ByteStream = { stream, _ in stream },
            dispose: @escaping @Sendable (Link, EventHead) throws -> EventDisposition = { _, _ in .handled }
        ) throws {
            poller = try Poller(name: "test")
            let (near, far) = try carrier.pair(poller)
            link = Link(peerName: "canvas", role: .host, ownSource: LinkPair.hostSource, limits: limits, poller: poller)
            delegate = RecordingDelegate(
                onMessage: { link, message in LinkPair.hostReceived(message, link, limits) },
                dispose: dispose
            )
            peer = LinesPeer(far)
            try link.start(over: wrap(near, poller), delegate: delegate)
            guard let hello else { return }
            peer.say(hello)
            _ = peer.receive(beginning: #"{"bridge":"welcome""#)
        }

        /// The sequences of the next events that the peer gets.
        func sequences(_ count: Int) -> [Int] {
            (0..<count).compactMap { _ in
                guard let line = peer.receive(beginning: #"{"specversion""#),
                    let match = line.firstMatch(of: /"sequence":([0-9]+)/)
                else { return nil }
                return Int(match.1)
            }
        }

        func waitForEnd() -> LinkEnd? {
            delegate.end.wait { $0 != nil }
            return delegate.end.value
        }

        func shutDown() {
            link.close()
            delegate.end.wait { $0 != nil }
            poller.stop()
        }
    }

    @Test("events pass both ways, in order, in whatever pieces", arguments: Carrier.allCases)
    func conversation(carrier: Carrier) throws {
        let random = SeededGenerator.announced()
        let interruptions = try Interruptions(random: random)
        defer { interruptions.end() }
        let fixture = try Fixture(
            carrier,
            wrap: { stream, poller in
                HarshStream(
                    stream,
                    random: random,
                    poller: poller,
                    interruptions: interruptions,
                    incoming: Encounters(),
                    outgoing: Encounters()
                )
            }
        )
        #expect(fixture.link.speaksLines)
        for number in 1...300 { fixture.link.publish(number, from: LinkPair.hostSource) }
        #expect(fixture.sequences(300) == Array(1...300))
        for number in 1...300 { fixture.peer.say(#"{"type":"Answered","data":{"n":\#(number)}}"#) }
        fixture.peer.say(#"{"bridge":"ack","sequence":300}"#)
        fixture.delegate.events.wait { $0.count == 300 }
        #expect(fixture.delegate.events.value.map(\.number) == Array(1...300))
        let quiet = Shared(false)
        fixture.link.whenQuiet { quiet.change { $0 = true } }
        quiet.wait { $0 }
        #expect(fixture.link.tally.tally.handled == 300)
        #expect(fixture.link.tally.tally.arrivedHandled == 300)
        fixture.peer.say(#"{"bridge":"goodbye"}"#)
        guard case .orderly(let goodbye)? = fixture.waitForEnd() else {
            Issue.record("\(String(describing: fixture.waitForEnd()))")
            return
        }
        #expect(goodbye.lastWritten == 300 && goodbye.handledMark == 300)
        fixture.shutDown()
    }

    @Test("an event larger than the window passes both ways, while the buffers are small", arguments: Carrier.allCases)
    func largeEvents(carrier: Carrier) throws {
        let fixture = try Fixture(carrier)
        let text = String(repeating: "x", count: LinkLimits().windowBytes + 1)
        let bytes = [0x7A] + withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian, Array.init) + Array(text.utf8)
        fixture.link.publish(1, from: LinkPair.hostSource, payload: bytes)
        fixture.link.publish(2, from: LinkPair.hostSource)
        let first = fixture.peer.receive(beginning: #"{"specversion""#)
        #expect(first?.hasSuffix(#""data":"\#(text)"}"#) == true)
        // The event is larger than the window, and went alone.
        fixture.peer.say(#"{"bridge":"ack","sequence":1}"#)
        #expect(fixture.sequences(1) == [2])
        fixture.peer.say(#"{"type":"Answered","data":"\#(text)"}"#)
        fixture.delegate.events.wait { !$0.isEmpty }
        #expect(fixture.delegate.events.value.first?.payload == bytes)
        fixture.shutDown()
    }

    @Test("what a peer has not acknowledged when it ends goes to the next one, as attempt 2")
    func redelivery() throws {
        let first = try Fixture()
        for number in 1...5 { first.link.publish(number, from: LinkPair.hostSource) }
        #expect(first.sequences(5) == Array(1...5))
        first.peer.say(#"{"bridge":"ack","sequence":2}"#)
        first.peer.say(#"{"bridge":"refuse","sequence":4,"reason":"invalid","text":"no"}"#)
        first.delegate.refused.wait { !$0.isEmpty }
        #expect(first.delegate.refused.value.first?.refusal == Refusal(sequence: 4, reason: 2, text: "no"))
        first.peer.close()
        #expect(first.waitForEnd() == .endOfStream)
        // The peer keeps nothing that it has published, so nothing is lost with it.
        #expect(first.link.loss == nil)
        let second = Link(
            peerName: "canvas",
            role: .host,
            ownSource: LinkPair.hostSource,
            limits: LinkLimits(),
            poller: first.poller
        )
        first.link.moveUnsettled(to: second)
        let (near, far) = MemoryStream.pair(poller: first.poller)
        let delegate = RecordingDelegate(
            onMessage: { link, message in LinkPair.hostReceived(message, link, LinkLimits()) }
        )
        try second.start(over: near, delegate: delegate)
        let peer = LinesPeer(far)
        peer.say(Self.hello)
        let lines = (0..<2).compactMap { _ in peer.receive(beginning: #"{"specversion""#) }
        #expect(lines.map { $0.contains(#""id":"host-b-3""#) } == [true, false])
        #expect(lines.map { $0.contains(#""id":"host-b-5""#) } == [false, true])
        #expect(lines.allSatisfy { $0.contains(#""attempt":2"#) })
        second.close()
        delegate.end.wait { $0 != nil }
        first.shutDown()
    }

    @Test("for a peer that acknowledges nothing an event counts as settled, unconfirmed, when it is written")
    func unconfirmed() throws {
        let fixture = try Fixture(
            says: #"{"bridge":"hello","cookie":"secret","acknowledge":"none","wants":["BoxSaved"]}"#
        )
        // More than any window.
        for number in 1...10_000 { fixture.link.publish(number, from: LinkPair.hostSource) }
        #expect(fixture.sequences(10_000) == Array(1...10_000))
        let quiet = Shared(false)
        fixture.link.whenQuiet { quiet.change { $0 = true } }
        quiet.wait { $0 }
        let tally = fixture.link.tally
        #expect(tally.tally.unconfirmed == 10_000 && tally.tally.handled == 0 && tally.waiting == 0)
        fixture.peer.close()
        #expect(fixture.waitForEnd() == .endOfStream)
        #expect(fixture.link.unfinished.isEmpty)
        fixture.shutDown()
    }

    @Test("a peer that sends far more than is handled is held up, and loses nothing")
    func flood() throws {
        var limits = LinkLimits()
        // Four events, and the link itself takes fifteen.
        limits.outboxHardBytes = 1_024
        limits.frameBytes = 2_000
        let gate = Shared(false)
        let fixture = try Fixture(
            .socket,
            limits: limits,
            dispose: { _, _ in
                gate.wait { $0 }
                return .handled
            }
        )
        fixture.peer.send((1...1_000).map { #"{"type":"A","data":\#($0)}"# + "\n" }.joined())
        gate.change { $0 = true }
        fixture.delegate.events.wait { $0.count == 1_000 }
        #expect(fixture.delegate.events.value.map(\.sequence) == Array(1...1_000))
        #expect(fixture.delegate.end.value == nil)
        fixture.shutDown()
    }

    @Test("what a peer has written before its end is taken, also what waits for room")
    func floodAndEnd() throws {
        var limits = LinkLimits()
        limits.outboxHardBytes = 1_024
        let gate = Shared(false)
        let fixture = try Fixture(
            .socket,
            limits: limits,
            dispose: { _, _ in
                gate.wait { $0 }
                return .handled
            }
        )
        fixture.peer.send((1...200).map { #"{"type":"A","data":\#($0)}"# + "\n" }.joined())
        fixture.peer.close()
        fixture.link.peerIsGone()
        gate.change { $0 = true }
        #expect(fixture.waitForEnd() == .endOfStream)
        #expect(fixture.delegate.events.value.map(\.sequence) == Array(1...200))
        fixture.shutDown()
    }

    @Test(
        "a line that breaks the protocol ends the link with a sentence, which the peer is told",
        arguments: [
            ("nonsense", #"a line of 8 bytes is not JSON: byte 0: found "nonsense", expected a value"#),
            (
                #"{"bridge":"ack","sequence":1}"#,
                "acknowledged event 1, but 0 is the newest that it was sent"
            ),
            (#"{"bridge":"hello"}"#, "a hello frame is not for a host to receive after the handshake"),
            (#"{"bridge":"ready"}"# + "\n" + #"{"bridge":"ready"}"#, "the worker said twice that it is ready"),
            (
                String(repeating: " ", count: 3_000),
                "a line of more than 2000 bytes arrived; the limit is 2000 bytes"
            ),
        ]
    )
    func violation(line: String, sentence: String) throws {
        var limits = LinkLimits()
        limits.frameBytes = 2_000
        let fixture = try Fixture(limits: limits)
        // The event before the bad line counts.
        fixture.peer.say(#"{"type":"A"}"# + "\n" + line)
        #expect(fixture.waitForEnd() == .violation(sentence))
        #expect(fixture.delegate.events.value.count == 1)
        let goodbye = fixture.peer.receive(beginning: #"{"bridge":"goodbye""#)
        #expect(goodbye?.hasPrefix(#"{"bridge":"goodbye","reason":"violation","text":""#) == true)
        fixture.shutDown()
    }

    @Test("before the hello no more than 64 KiB are taken, behind it a line may be long at once")
    func handshakeLimit() throws {
        let silent = try Fixture(says: nil)
        silent.peer.send("{" + String(repeating: " ", count: 70_000))
        #expect(
            silent.waitForEnd() == .violation("a line of more than 65536 bytes arrived; the limit is 65536 bytes")
        )
        silent.shutDown()
        let hasty = try Fixture(says: nil)
        hasty.peer.say(Self.hello + "\n" + #"{"type":"A","data":"\#(String(repeating: "x", count: 100_000))"}"#)
        hasty.delegate.events.wait { !$0.isEmpty }
        #expect(hasty.delegate.events.value.first?.payload.count == 100_005)
        hasty.shutDown()
    }

    @Test("a line that is cut short is dropped and reported, what came before it stands")
    func torn() throws {
        let fixture = try Fixture()
        fixture.peer.send(#"{"type":"A"}"# + "\n" + #"{"type":"B"#)
        fixture.peer.close()
        #expect(fixture.waitForEnd() == .failed("the stream ended inside a line: 10 bytes of it had arrived"))
        #expect(fixture.delegate.events.value.count == 1)
        fixture.shutDown()
    }

    @Test("nothing is written before the peer has spoken: in lines it is answered in lines")
    func silence() throws {
        let fixture = try Fixture(says: nil)
        fixture.link.send(.drain(graceMilliseconds: 7))
        fixture.peer.say(Self.hello)
        var lines: [String] = []
        while let line = fixture.peer.receive() {
            lines.append(line)
            if line.hasPrefix(#"{"bridge":"drain""#) { break }
        }
        #expect(lines.first?.hasPrefix(#"{"bridge":"welcome""#) == true)
        #expect(lines.last == #"{"bridge":"drain","milliseconds":7}"#)
        fixture.shutDown()
    }

    @Test("a wrong cookie is rejected in lines, and what the peer wrote before it knew of that is no violation")
    func rejected() throws {
        let fixture = try Fixture(says: nil)
        let hello = #"{"bridge":"hello","cookie":"wrong","wants":["BoxSaved"]}"#
        fixture.peer.send(hello + "\n" + #"{"bridge":"ready"}"# + "\n")
        #expect(fixture.peer.receive()?.hasPrefix(#"{"bridge":"reject","reason":"cookie","text":""#) == true)
        fixture.peer.say("no line of a worker")
        fixture.peer.close()
        #expect(fixture.waitForEnd() == .endOfStream)
        #expect(fixture.delegate.messages.value.count == 1)
        fixture.shutDown()
    }
}
