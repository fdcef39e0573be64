import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import Locks
import TestSupport
import Testing

/// The behaviour of a host's link with a peer that speaks the protocol by hand, and sometimes breaks it.
@Suite("A link and a peer of another make", .timeLimit(.minutes(5)))
struct LinkViolationTests {
    private struct Fixture {
        let poller: Poller
        let link: Link
        let delegate: RecordingDelegate
        let peer: ManualPeer

        init(
            limits: LinkLimits = LinkLimits(),
            handshake: Bool = true,
            wrap: (any ByteStream) -> any ByteStream = { $0 },
            dispose: @escaping @Sendable (Link, EventHead) throws -> EventDisposition = { _, _ in .handled }
        ) throws {
            poller = try Poller(name: "test")
            let (near, far) = MemoryStream.pair(poller: poller)
            link = Link(peerName: "canvas", role: .host, ownSource: LinkPair.hostSource, limits: limits, poller: poller)
            peer = ManualPeer(far)
            delegate = RecordingDelegate(
                onMessage: { link, message in
                    guard case .hello(let hello) = message else { return }
                    guard hello.cookie == "secret" else {
                        link.send(.reject(Reject(reason: 2, text: "no")))
                        return
                    }
                    link.established(
                        peerSource: LinkPair.workerSource,
                        ownIncarnation: LinkPair.hostSource.incarnation,
                        peerWindowBytes: hello.windowBytes,
                        peerWindowEvents: hello.windowEvents,
                        peerFrameBytes: hello.frameBytes
                    )
                    link.releaseEvents()
                },
                dispose: dispose
            )
            try link.start(over: wrap(near), delegate: delegate)
            guard handshake else { return }
            peer.send(.hello(LinkPair.hello(limits)))
            delegate.messages.wait { !$0.isEmpty }
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

    private static let incarnation = LinkPair.workerSource.incarnation

    /// Bytes that a peer sends after the handshake, and the reason of the end.
    private static let violations: [(String, [UInt8])] = [
        ("a frame of 2063597568 bytes was announced; the limit is 16777216 bytes", [0x7B, 0, 0, 0]),
        ("a frame without a body arrived", [0, 0, 0, 0]),
        ("frame kind 6 is unknown and may not be skipped", [0, 0, 0, 2, 0x81, 6]),
        ("a hello frame is not for a host to receive after the handshake", frame(.hello(LinkPair.hello()))),
        ("a drain frame is forbidden: only a host sends it", frame(.drain(graceMilliseconds: 1))),
        ("a reject frame is forbidden: only a host sends it", frame(.reject(Reject(reason: 1, text: "")))),
        ("the worker said twice that it is ready", frame(.ready) + frame(.ready)),
        (
            "acknowledged event 1, but 0 is the newest that was written",
            frame(.acknowledge(Acknowledgement(mark: 1), incarnation: incarnation))
        ),
        (
            "refused event 1, but 0 is the newest that was written",
            frame(.refuse(Refusal(sequence: 1, reason: 1, text: "")))
        ),
        (
            "event with sequence 2 arrived where 1 was expected",
            frame(
                EventHead(sequence: 2, id: .sender(number: 2), nanosecondsSinceEpoch: 1, name: .text("a")),
                payload: [0xA0]
            )
        ),
        ("name number 9 is no longer wanted, but was not before", frame(.interest(Interest(unwanted: [9])))),
        ("Expected an array but found a map at byte 0.", [0, 0, 0, 1, 0xA0]),
    ]

    @Test("a violation ends the link with a sentence, which the peer is told too", arguments: violations)
    func violation(expected: String, bytes: [UInt8]) throws {
        let fixture = try Fixture()
        fixture.peer.send(bytes)
        #expect(fixture.waitForEnd() == .violation(expected))
        var last: ControlMessage?
        while let message = fixture.peer.receiveMessage() { last = message }
        guard case .goodbye(let goodbye)? = last else {
            Issue.record("the last frame was \(String(describing: last))")
            return
        }
        #expect(goodbye.reason == Goodbye.Reason.violation.rawValue)
        #expect(goodbye.text == expected)
        fixture.shutDown()
    }

    @Test("an event that was taken before the peer said that it is too large ends the link, and none leaves")
    func smallFrames() throws {
        var limits = LinkLimits()
        limits.frameBytes = 4_096
        let fixture = try Fixture(limits: limits, handshake: false)
        fixture.link.put(1, from: LinkPair.hostSource)
        fixture.link.put(2, from: LinkPair.hostSource, payload: [UInt8](repeating: 0, count: 2_000))
        limits.frameBytes = 1_500
        fixture.peer.send(.hello(LinkPair.hello(limits)))
        let large = EventID(source: LinkPair.hostSource, number: 2)
        let expected = "it takes frames of at most 1500 bytes, and BoxSaved (\(large)), which waits for it, is larger"
        #expect(fixture.waitForEnd() == .violation(expected))
        var bodies: [[UInt8]] = []
        while let body = fixture.peer.receive() { bodies.append(body) }
        let messages = try bodies.map { body in
            try body.withUnsafeBytes { try ControlMessage(decoding: $0, limits: LinkLimits()) }
        }
        guard messages.count == 1, case .goodbye(let goodbye)? = messages[0] else {
            Issue.record("there came \(messages)")
            return
        }
        #expect(goodbye.text == expected)
        // The successor of the peer learns of which event its predecessor has died.
        #expect(fixture.link.unfinished == [large])
        fixture.shutDown()
    }

    @Test("an interest that is larger than the peer takes ends the link, be it whole or a change, and is not sent")
    func smallFramesForInterest() throws {
        let name = Interest.Name(number: 1, name: String(repeating: "n", count: 256))
        for isWhole in [true, false] {
            var limits = LinkLimits()
            limits.frameBytes = 200
            let fixture = try Fixture(handshake: false)
            fixture.peer.send(.hello(LinkPair.hello(limits)))
            fixture.delegate.messages.wait { !$0.isEmpty }
            if isWhole {
                fixture.link.send(.interest(Interest(wanted: [name])))
            } else {
                fixture.link.queue(changes: Interest(wanted: [name]))
            }
            let expected = """
                it takes frames of at most 200 bytes, and the names of the events that are wanted from it take a frame \
                of \(isWhole ? 265 : 269) bytes
                """
            #expect(fixture.waitForEnd() == .violation(expected))
            var messages: [ControlMessage] = []
            while let message = fixture.peer.receiveMessage() { messages.append(message) }
            guard case .goodbye(let goodbye)? = messages.last else {
                Issue.record("there came \(messages)")
                return
            }
            #expect(goodbye.text == expected)
            #expect(!messages.contains { if case .interest = $0 { true } else { false } })
            fixture.shutDown()
        }
    }

    @Test("an interest that is larger than a worker takes is told in parts, the first of which wants everything")
    func interestInParts() throws {
        let names = (1...64).map { number in
            Interest.Name(number: UInt64(number), name: String(repeating: "n", count: 200) + "\(number)")
        }
        let everything = Interest.Name(number: 0, name: "*")
        for wantsEverything in [false, true] {
            var limits = LinkLimits()
            limits.frameBytes = 1_000
            let fixture = try Fixture(handshake: false)
            fixture.peer.send(.hello(LinkPair.hello(limits)))
            fixture.delegate.messages.wait { !$0.isEmpty }
            fixture.link.send(.interest(Interest(wanted: wantsEverything ? [everything] + names : names)))
            // What the peer knows after each message; its own table takes them all.
            var table = InterestTable(limits: LinkLimits())
            var interests: [Interest] = []
            while table.number(of: names[63].name) == nil || (!wantsEverything && table.number(of: "*") != nil) {
                guard case .interest(let interest)? = fixture.peer.receiveMessage() else {
                    Issue.record("the link has ended: \(String(describing: fixture.delegate.end.value))")
                    return
                }
                #expect(frame(.interest(interest)).count - FrameDecoder.headBytes <= limits.frameBytes)
                try table.apply(interest)
                interests.append(interest)
                // No event of the worker is unwanted meanwhile.
                #expect(table.number(of: "*") != nil || names.allSatisfy { table.number(of: $0.name) != nil })
            }
            #expect(interests.first == Interest(wanted: [everything]))
            #expect(names.allSatisfy { table.number(of: $0.name) == $0.number })
            fixture.shutDown()
        }
    }

    @Test("control messages without end, known or not, end the link; the limit is named")
    func controlMessages() throws {
        // A frame of an unknown kind that may be skipped: [128].
        for bytes in [frame(.heartbeat), [0, 0, 0, 3, 0x81, 0x18, 0x80]] {
            var limits = LinkLimits()
            limits.controlMessages = 1
            let fixture = try Fixture(limits: limits)
            fixture.peer.send(Array(repeatElement(bytes, count: 1_000).joined()))
            let expected =
                "it sends too many control messages that answer no event; the limit is 1 a second, and 4 at once"
            #expect(fixture.waitForEnd() == .violation(expected))
            fixture.shutDown()
        }
    }

    @Test("D5: a frame that has begun and is not whole shows when it last made progress, until it is")
    func unfinishedFrame() throws {
        let fixture = try Fixture()
        let bytes = frame(.ready)
        fixture.peer.send(Array(bytes.prefix(3)))
        func wait(_ isMet: (UInt64?) -> Bool) -> UInt64? {
            var found: UInt64?
            waitUntil {
                found = fixture.link.unfinishedFrame
                return isMet(found)
            }
            return found
        }
        let first = wait { $0 != nil }
        // One more byte is no progress.
        fixture.peer.send([bytes[3]])
        #expect(wait { $0 != nil } == first)
        fixture.peer.send(Array(bytes.dropFirst(4)))
        fixture.delegate.messages.wait { $0.contains { $0 == .ready } }
        #expect(wait { $0 == nil } == nil)
        // The time of a large frame that makes progress begins anew.
        fixture.peer.send([0, 1, 0, 0])
        let second = wait { $0 != nil }
        fixture.peer.send([UInt8](repeating: 0, count: 8 << 10))
        #expect(wait { $0 != nil && $0 != second } != first)
        fixture.shutDown()
    }

    @Test("a peer begins with its hello, and the hello is short")
    func beforeHello() throws {
        for (bytes, text) in [
            ([0, 1, 0, 1], "a frame of 65537 bytes was announced; the limit is 65536 bytes"),
            (frame(.ready), "a ready frame came before hello"),
            (
                frame(.goodbye(Goodbye(reason: 1, text: "", lastWritten: 0, handledMark: 0))),
                "a goodbye frame came before hello"
            ),
        ] as [([UInt8], String)] {
            let fixture = try Fixture(handshake: false)
            fixture.peer.send(bytes)
            #expect(fixture.waitForEnd() == .violation(text))
            fixture.shutDown()
        }
    }

    @Test("a peer that was rejected and goes on all the same is cut off")
    func rejected() throws {
        let fixture = try Fixture(handshake: false)
        var hello = LinkPair.hello()
        hello.cookie = "guessed"
        fixture.peer.send(.hello(hello))
        #expect(fixture.peer.receiveMessage() == .reject(Reject(reason: 2, text: "no")))
        fixture.peer.send(.ready)
        #expect(fixture.waitForEnd() == .violation("a ready frame came after the end"))
        #expect(fixture.delegate.messages.value.count == 1)
        fixture.shutDown()
    }

    @Test("an error that the delegate throws is a violation with its words")
    func delegateThrows() throws {
        let fixture = try Fixture(dispose: { _, _ in throw LinkViolation("name number 7 was not given out") })
        fixture.peer.send(event: 1, name: .number(7))
        #expect(fixture.waitForEnd() == .violation("name number 7 was not given out"))
        fixture.shutDown()
    }

    @Test("an error that the delegate throws late, when another thread has read on, is a violation as well")
    func delegateThrowsLate() throws {
        let goesOn = Shared(false)
        let fixture = try Fixture(dispose: { _, _ in
            goesOn.wait { $0 }
            throw LinkViolation("name number 7 was not given out")
        })
        fixture.peer.send(event: 1, name: .number(7))
        fixture.peer.send(.ready)
        // Only another thread can have read this message.
        #expect(fixture.delegate.messages.wait { $0.count == 2 })
        goesOn.change { $0 = true }
        #expect(fixture.waitForEnd() == .violation("name number 7 was not given out"))
        fixture.shutDown()
    }

    @Test("one event more than the window allows is a violation")
    func overrun() throws {
        var limits = LinkLimits()
        limits.windowEvents = 2
        let fixture = try Fixture(limits: limits, dispose: { _, _ in .pending })
        for sequence: UInt64 in 1...3 { fixture.peer.send(event: sequence) }
        guard case .violation(let text)? = fixture.waitForEnd() else {
            Issue.record("no violation")
            return
        }
        #expect(text.hasPrefix("event 3 exceeds the window: 2 events with 512 bytes are unacknowledged"))
        fixture.shutDown()
    }

    @Test("a frame of a kind that may be skipped is skipped")
    func skippable() throws {
        let fixture = try Fixture()
        fixture.peer.send([0, 0, 0, 4, 0x82, 0x18, 0xC8, 0xF6])
        fixture.peer.send(event: 1)
        #expect(fixture.delegate.events.wait { $0.count == 1 })
        fixture.shutDown()
    }

    @Test("C11: the whole frames before a torn one count, and the torn one is reported")
    func tornFrame() throws {
        let fixture = try Fixture()
        fixture.peer.send(event: 1)
        fixture.peer.send(Array(frame(.drain(graceMilliseconds: 5_000)).prefix(6)))
        fixture.peer.stream.close()
        #expect(fixture.waitForEnd() == .failed("the stream ended inside a frame: 6 of 9 bytes had arrived"))
        #expect(fixture.delegate.events.value.count == 1)
        fixture.shutDown()
    }

    @Test("a frame that comes byte by byte is read like any other, and a large one does not lose its place")
    func dripFeed() throws {
        let fixture = try Fixture()
        let message = ControlMessage.moreTime(milliseconds: 70_000, reason: "reading a large file")
        for byte in frame(message) { fixture.peer.send([byte]) }
        let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
        fixture.peer.send(event: 1, payload: large)
        #expect(fixture.delegate.events.wait { $0.count == 1 })
        #expect(fixture.delegate.events.value.first?.payload == large)
        #expect(fixture.delegate.messages.value.last == message)
        fixture.shutDown()
    }

    @Test("an acknowledgement counts in each form that the protocol allows", arguments: [0, 1, 19, 200])
    func acknowledgementForms(further: Int) throws {
        let fixture = try Fixture()
        fixture.link.publish(1, from: LinkPair.hostSource)
        _ = fixture.peer.receive()
        // What a later version may add: nulls behind the elements of today.
        let buffer = CBORBuffer()
        buffer.appendFrame { writer in
            writer.arrayHead(5 + further)
            for number in [FrameKind.acknowledge.rawValue, Self.incarnation, 1, 0] { writer.unsigned(number) }
            writer.arrayHead(0)
            for _ in 0..<further { writer.null() }
        }
        fixture.peer.send(Array(buffer.bytes))
        // The peer's event shows that everything before it was read.
        fixture.peer.send(event: 1)
        fixture.delegate.events.wait { $0.count == 1 }
        #expect(fixture.link.outboxDepth.events == 0)
        fixture.shutDown()
    }

    @Test("C5: an acknowledgement of another incarnation is ignored")
    func staleAcknowledgement() throws {
        let fixture = try Fixture()
        fixture.link.publish(1, from: LinkPair.hostSource)
        fixture.peer.send(.acknowledge(Acknowledgement(mark: 1), incarnation: Self.incarnation + 1))
        // The peer's event shows that everything before it was read.
        fixture.peer.send(event: 1)
        fixture.delegate.events.wait { $0.count == 1 }
        #expect(fixture.link.outboxDepth.events == 1)
        fixture.shutDown()
    }

    @Test(
        "an acknowledgement that names an event stands only when that event has arrived; its credit comes back at once"
    )
    func acknowledgementAfter() throws {
        var limits = LinkLimits()
        limits.windowEvents = 1
        let fixture = try Fixture(limits: limits)
        for number in 1...2 { fixture.link.publish(number, from: LinkPair.hostSource) }
        _ = fixture.peer.receive()
        fixture.peer.send(.acknowledge(Acknowledgement(mark: 1, after: 1), incarnation: Self.incarnation))
        // The second event comes because of the first event's credit.
        _ = fixture.peer.receive()
        #expect(fixture.link.outboxDepth.events == 2)
        fixture.peer.send(event: 1)
        fixture.delegate.events.wait { $0.count == 1 }
        #expect(fixture.link.outboxDepth.events == 1)
        fixture.shutDown()
    }

    @Test("an acknowledgement is written behind the events of its side, and names what the window holds back")
    func acknowledgementNamesHeldBack() throws {
        var limits = LinkLimits()
        limits.windowEvents = 1
        let fixture = try Fixture(
            limits: limits,
            dispose: { link, head in
                // As a handler would: three events before the event is handled.
                for number in 1...3 { link.put(number, from: LinkPair.hostSource) }
                return .handled
            }
        )
        fixture.peer.send(event: 1)
        let first = try #require(fixture.peer.receive())
        #expect(try first.withUnsafeBytes { try EventFrame.decode($0, limits: limits).head.sequence } == 1)
        #expect(
            fixture.peer.receiveMessage()
                == .acknowledge(Acknowledgement(mark: 1, after: 3), incarnation: LinkPair.hostSource.incarnation)
        )
        fixture.shutDown()
    }

    @Test("goodbye carries the last acknowledgement along, though nothing else was due")
    func goodbyeAcknowledges() throws {
        let fixture = try Fixture(dispose: { _, _ in .pending })
        fixture.peer.send(event: 1)
        fixture.delegate.events.wait { $0.count == 1 }
        fixture.link.eventHandled(1)
        fixture.link.finish(reason: .shutdown, text: "done")
        let incarnation = LinkPair.hostSource.incarnation
        #expect(fixture.peer.receiveMessage() == .acknowledge(Acknowledgement(mark: 1), incarnation: incarnation))
        #expect(
            fixture.peer.receiveMessage()
                == .goodbye(Goodbye(reason: 1, text: "done", lastWritten: 0, handledMark: 1))
        )
        #expect(fixture.peer.receive() == nil)
        fixture.shutDown()
    }

    @Test("what a dead peer had written is read though another process holds its end")
    func peerIsGone() throws {
        let fixture = try Fixture()
        fixture.peer.send(event: 1)
        fixture.delegate.events.wait { $0.count == 1 }
        fixture.link.peerIsGone()
        #expect(fixture.waitForEnd() == .endOfStream)
        fixture.shutDown()
    }

    @Test("a heartbeat is left out while the last one has not left")
    func heartbeats() throws {
        let gated = Shared<GatedStream?>(nil)
        let fixture = try Fixture(
            wrap: { stream in
                let made = GatedStream(stream)
                gated.change { $0 = made }
                return made
            }
        )
        let stream = try #require(gated.value)
        stream.isOpen.change { $0 = false }
        let link = fixture.link
        let writer = try PlatformThread.startJoinable(name: "writer") { link.sendHeartbeat() }
        stream.isHeld.wait { $0 }
        for _ in 2...9 { link.sendHeartbeat() }
        stream.isOpen.change { $0 = true }
        writer.join()
        link.send(.drain(graceMilliseconds: 1))
        #expect(fixture.peer.receiveMessage() == .heartbeat)
        #expect(fixture.peer.receiveMessage() == .heartbeat)
        #expect(fixture.peer.receiveMessage() == .drain(graceMilliseconds: 1))
        fixture.shutDown()
    }

    @Test("a worker counts its heartbeats in memory for a host that reads them there, and sends none")
    func countedHeartbeats() throws {
        let pair = try LinkPair(.socket)
        let before = pair.host.countedHeartbeats?.asWritten
        for _ in 1...9 { pair.worker.sendHeartbeat() }
        let after = pair.host.countedHeartbeats?.asWritten
        pair.worker.send(.ready)
        pair.hostDelegate.messages.wait { $0.contains { $0 == .ready } }
        let isRead = pair.host.features.contains(.readsHeartbeats)
        #expect(before == (isRead ? 0 : nil))
        #expect(after == (isRead ? 9 : nil))
        #expect(pair.hostDelegate.messages.value.filter { $0 == .heartbeat }.count == (isRead ? 0 : 9))
        #if os(Linux)
        #expect(isRead)
        #endif
        pair.shutDown()
    }

    @Test("a worker learns from a goodbye before the welcome what was wrong with its hello")
    func goodbyeBeforeWelcome() throws {
        let poller = try Poller(name: "test")
        let (near, far) = MemoryStream.pair(poller: poller)
        let link = Link(
            peerName: "host",
            role: .worker,
            ownSource: LinkPair.workerSource,
            limits: LinkLimits(),
            poller: poller
        )
        let delegate = RecordingDelegate()
        try link.start(over: near, delegate: delegate)
        let goodbye = Goodbye(reason: 4, text: "no hello", lastWritten: 0, handledMark: 0)
        ManualPeer(far).send(.goodbye(goodbye))
        delegate.end.wait { $0 != nil }
        #expect(delegate.end.value == .orderly(goodbye))
        poller.stop()
    }

    // MARK: - Room

    private static func small() -> LinkLimits {
        var limits = LinkLimits()
        limits.outboxBytes = 1_000
        return limits
    }

    @Test("a sender that waits for room is called when events were acknowledged")
    func roomAfterAcknowledgement() async throws {
        let fixture = try Fixture(limits: Self.small())
        try await fixture.link.waitForRoom()
        for number in 1...4 { fixture.link.publish(number, from: LinkPair.hostSource) }
        #expect(!fixture.link.hasRoom(for: "BoxSaved"))
        let link = fixture.link
        let waiting = Task { try await link.waitForRoom() }
        fixture.peer.send(.acknowledge(Acknowledgement(mark: 2), incarnation: Self.incarnation))
        try await waiting.value
        #expect(fixture.link.hasRoom(for: "BoxSaved"))
        fixture.shutDown()
    }

    @Test("a sender that waits for room is called when the link ends")
    func roomAfterEnd() async throws {
        let fixture = try Fixture(limits: Self.small())
        for number in 1...4 { fixture.link.publish(number, from: LinkPair.hostSource) }
        let link = fixture.link
        let waiting = Task { try await link.waitForRoom() }
        fixture.peer.stream.close()
        try await waiting.value
        #expect(fixture.link.hasRoom(for: "BoxSaved"))
        fixture.shutDown()
    }

    @Test("a cancelled wait for room throws, before or after it began")
    func roomCancelled() async throws {
        let fixture = try Fixture(limits: Self.small())
        for number in 1...4 { fixture.link.publish(number, from: LinkPair.hostSource) }
        let link = fixture.link
        for _ in 0..<50 {
            let waiting = Task { try await link.waitForRoom() }
            if Bool.random() { await Task.yield() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        #expect(!fixture.link.hasRoom(for: "BoxSaved"))
        fixture.shutDown()
    }
}
