import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport

/// The behaviour of two proper links, whatever carries them.
@Suite("Links", .timeLimit(.minutes(5)))
struct LinkConformanceTests {
    @Test("the handshake's messages reach both sides", arguments: Carrier.allCases)
    func handshake(carrier: Carrier) throws {
        let pair = try LinkPair(carrier)
        #expect(pair.hostDelegate.messages.value == [.hello(LinkPair.hello(features: pair.worker.features))])
        guard case .welcome(let welcome)? = pair.workerDelegate.messages.value.first else {
            Issue.record("no welcome came")
            return
        }
        #expect(welcome.workerIncarnation == LinkPair.workerSource.incarnation)
        pair.shutDown()
    }

    @Test(
        "events arrive in order, both ways at once, and acknowledgements empty the outboxes",
        arguments: Carrier.allCases
    )
    func bothWays(carrier: Carrier) throws {
        let pair = try LinkPair(carrier)
        let count = 5_000
        let other = try PlatformThread.startJoinable(name: "worker side") {
            for number in 1...count { pair.worker.publish(number, from: LinkPair.workerSource) }
        }
        for number in 1...count { pair.host.publish(number, from: LinkPair.hostSource) }
        other.join()
        for delegate in [pair.hostDelegate, pair.workerDelegate] {
            #expect(delegate.events.wait { $0.count == count })
            #expect(delegate.events.value.map(\.sequence) == (1...UInt64(count)).map { $0 })
            #expect(delegate.events.value.map(\.payload) == (1...count).map { payload($0) })
            #expect(delegate.events.value.allSatisfy { $0.attempt == 1 && $0.number == $0.sequence })
        }
        for link in [pair.host, pair.worker] {
            let isQuiet = Shared(false)
            link.whenQuiet { isQuiet.change { $0 = true } }
            #expect(isQuiet.wait { $0 })
            #expect(link.outboxDepth == (0, 0))
        }
        pair.shutDown()
    }

    @Test(
        "events carry the number that the peer's interest gave their name, and the name before that",
        arguments: Carrier.allCases
    )
    func names(carrier: Carrier) throws {
        let pair = try LinkPair(carrier)
        pair.worker.publish(1, from: LinkPair.workerSource)
        pair.host.send(.interest(Interest(wanted: [.init(number: 5, name: "BoxSaved")])))
        pair.workerDelegate.messages.wait { $0.count == 2 }
        pair.worker.publish(2, from: LinkPair.workerSource)
        pair.hostDelegate.events.wait { $0.count == 2 }
        #expect(pair.hostDelegate.events.value.map(\.name) == [.text("BoxSaved"), .number(5)])
        #expect(pair.worker.peerInterestName(of: 5) == "BoxSaved")
        pair.shutDown()
    }

    @Test("an event is acknowledged when it was said to be handled, and not before", arguments: Carrier.allCases)
    func pending(carrier: Carrier) throws {
        let pair = try LinkPair(carrier, hostDispose: { _, head in head.sequence == 1 ? .pending : .handled })
        for number in 1...3 { pair.worker.publish(number, from: LinkPair.workerSource) }
        pair.hostDelegate.events.wait { $0.count == 3 }
        pair.host.acknowledgeNow()
        // The other two are handled, and the worker is told so.
        waitUntil { pair.worker.outboxDepth.events == 1 }
        #expect(!pair.host.isQuiet)
        pair.host.eventHandled(1)
        let isQuiet = Shared(false)
        pair.worker.whenQuiet { isQuiet.change { $0 = true } }
        #expect(isQuiet.wait { $0 })
        #expect(pair.worker.outboxDepth == (0, 0))
        #expect(pair.host.isQuiet)
        pair.shutDown()
    }

    @Test("a refusal reaches the sender with the event, which is settled with that", arguments: Carrier.allCases)
    func refusal(carrier: Carrier) throws {
        let long = String(repeating: "e\u{301}", count: 50_000)
        let pair = try LinkPair(
            carrier,
            hostDispose: { _, head in head.sequence == 2 ? .refused(.invalid, text: long) : .handled }
        )
        for number in 1...3 { pair.worker.publish(number, from: LinkPair.workerSource) }
        #expect(pair.workerDelegate.refused.wait { $0.count == 1 })
        let refused = try #require(pair.workerDelegate.refused.value.first)
        #expect(refused.sequence == 2)
        #expect(refused.payload == payload(2))
        #expect(refused.refusal.reason == Refusal.Reason.invalid.rawValue)
        #expect(refused.refusal.text.utf8.count < 4_096)
        let isQuiet = Shared(false)
        pair.worker.whenQuiet { isQuiet.change { $0 = true } }
        #expect(isQuiet.wait { $0 })
        #expect(pair.workerDelegate.end.value == nil)
        pair.shutDown()
    }

    @Test("on an idle link the publishing thread writes", arguments: Carrier.allCases)
    func idleLine(carrier: Carrier) throws {
        let watched = Shared<WatchedStream?>(nil)
        let pair = try LinkPair(
            carrier,
            wrapWorker: { stream, _ in
                let made = WatchedStream(stream)
                watched.change { $0 = made }
                return made
            }
        )
        let stream = try #require(watched.value)
        let before = stream.writes.value.count
        pair.worker.put(1, from: LinkPair.workerSource)
        // At a time long after the last write, the link is idle.
        pair.worker.flush(at: WallClock.now() + 1_000_000_000)
        #expect(stream.writes.value.count == before + 1)
        #expect(stream.writes.value.last == ThreadMark())
        #expect(pair.hostDelegate.events.wait { $0.count == 1 })
        pair.shutDown()
    }

    @Test("what is published while a write is under way leaves together behind it", arguments: Carrier.allCases)
    func busyLine(carrier: Carrier) throws {
        let gated = Shared<GatedStream?>(nil)
        var limits = LinkLimits()
        limits.windowBytes = 64 << 20
        limits.windowEvents = 20_000
        let pair = try LinkPair(
            carrier,
            limits: limits,
            wrapWorker: { stream, _ in
                let made = GatedStream(stream)
                gated.change { $0 = made }
                return made
            }
        )
        let stream = try #require(gated.value)
        stream.isOpen.change { $0 = false }
        let writer = try PlatformThread.startJoinable(name: "writer") {
            pair.worker.put(1, from: LinkPair.workerSource)
            pair.worker.flush(at: 0)
        }
        stream.isHeld.wait { $0 }
        let before = stream.count.value
        for number in 2...10_000 { pair.worker.publish(number, from: LinkPair.workerSource) }
        #expect(stream.count.value == before)
        stream.isOpen.change { $0 = true }
        writer.join()
        #expect(pair.hostDelegate.events.wait { $0.count == 10_000 })
        #expect(pair.hostDelegate.events.value.map(\.number) == (1...10_000).map { UInt64($0) })
        #expect(stream.count.value - before < 500)
        pair.shutDown()
    }

    @Test(
        "right behind a write the line is busy: what comes then is written by the poller's thread",
        arguments: Carrier.allCases
    )
    func rightBehindAWrite(carrier: Carrier) throws {
        let watched = Shared<WatchedStream?>(nil)
        let pair = try LinkPair(
            carrier,
            wrapWorker: { stream, _ in
                let made = WatchedStream(stream)
                watched.change { $0 = made }
                return made
            }
        )
        let stream = try #require(watched.value)
        for number in 1...3 { pair.worker.put(number, from: LinkPair.workerSource) }
        pair.worker.flush(at: pair.worker.lock.withLock { pair.worker.writer.lastWriteEnded } + 1)
        #expect(pair.hostDelegate.events.wait { $0.count == 3 })
        #expect(stream.writes.value.last != ThreadMark())
        pair.shutDown()
    }

    @Test(
        "no more events are written than the receiver's window, and later the rest follows",
        arguments: Carrier.allCases
    )
    func window(carrier: Carrier) throws {
        var limits = LinkLimits()
        limits.windowEvents = 10
        let pair = try LinkPair(carrier, limits: limits, hostDispose: { _, _ in .pending })
        for number in 1...100 { pair.worker.publish(number, from: LinkPair.workerSource) }
        pair.worker.pump()
        var handled: UInt64 = 0
        while handled < 100 {
            #expect(pair.hostDelegate.events.wait { $0.count >= min(handled + 10, 100) })
            // An event beyond the window would be a violation, which ends the link.
            #expect(pair.hostDelegate.events.value.count <= handled + 10)
            for _ in 0..<5 {
                handled += 1
                pair.host.eventHandled(handled)
            }
            pair.host.acknowledgeNow()
        }
        #expect(pair.hostDelegate.events.wait { $0.count == 100 })
        #expect(pair.hostDelegate.end.value == nil)
        pair.shutDown()
    }

    @Test("N8: an event larger than the window passes alone", arguments: Carrier.allCases)
    func largeEvent(carrier: Carrier) throws {
        let pair = try LinkPair(carrier)
        let large = [UInt8](repeating: 3, count: 5 << 20)
        for number in 1...3 {
            pair.worker.put(number, from: LinkPair.workerSource, payload: number == 2 ? large : payload(number))
            pair.worker.flush(at: 0)
        }
        #expect(pair.hostDelegate.events.wait { $0.count == 3 })
        #expect(pair.hostDelegate.events.value.map(\.payload) == [payload(1), large, payload(3)])
        pair.shutDown()
    }

    @Test(
        "an event larger than the peer's frames, or than the room that is left, is not taken",
        arguments: Carrier.allCases
    )
    func notTaken(carrier: Carrier) throws {
        var limits = LinkLimits()
        limits.frameBytes = 100_000
        limits.outboxBytes = 100_000
        limits.outboxHardBytes = 200_000
        let pair = try LinkPair(carrier, limits: limits, hostDispose: { _, _ in .pending })
        let source = LinkPair.workerSource
        #expect(
            pair.worker.put(1, from: source, payload: .init(repeating: 0, count: 99_000))
                == .tooLarge(size: 99_000, limit: 97_952)
        )
        #expect(
            pair.worker.put(1, from: source, payload: .init(repeating: 0, count: 97_952))
                == .accepted(sequence: 1, isCrowded: false)
        )
        #expect(
            pair.worker.put(2, from: source, payload: .init(repeating: 0, count: 97_952))
                == .accepted(sequence: 2, isCrowded: true)
        )
        #expect(pair.worker.put(3, from: source, payload: .init(repeating: 0, count: 97_952)) == .full(limit: 200_000))
        pair.worker.flush(at: 0)
        #expect(pair.hostDelegate.events.wait { $0.count == 2 })
        pair.shutDown()
        #expect(pair.worker.put(4, from: source) == .ended)
    }

    @Test(
        "the goodbye comes behind all events, and with the acknowledgement of all that was handled",
        arguments: Carrier.allCases
    )
    func goodbye(carrier: Carrier) throws {
        var limits = LinkLimits()
        limits.windowEvents = 100
        let pair = try LinkPair(carrier, limits: limits, workerDispose: { _, _ in .pending })
        pair.host.publish(1, from: LinkPair.hostSource)
        #expect(pair.workerDelegate.events.wait { $0.count == 1 })
        pair.worker.eventHandled(1)
        for number in 1...1_000 { pair.worker.put(number, from: LinkPair.workerSource) }
        pair.worker.finish(reason: .shutdown, text: "done")
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        guard case .orderly(let goodbye)? = pair.hostDelegate.end.value else {
            Issue.record("the end was \(String(describing: pair.hostDelegate.end.value))")
            return
        }
        #expect(goodbye.lastWritten == 1_000)
        #expect(goodbye.text == "done")
        #expect(pair.hostDelegate.events.value.count == 1_000)
        #expect(pair.host.outboxDepth.events == 0)
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        pair.shutDown()
    }

    @Test("the end that this side brought about is told from the peer's", arguments: Carrier.allCases)
    func ends(carrier: Carrier) throws {
        let pair = try LinkPair(carrier)
        pair.worker.close()
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        #expect(pair.workerDelegate.end.value == .closed)
        #expect(pair.hostDelegate.end.value == .endOfStream)
        #expect(pair.worker.hasEnded && pair.host.hasEnded)
        pair.shutDown()
    }

    @Test(
        "what was not acknowledged goes to the next incarnation in order, as another attempt",
        arguments: Carrier.allCases
    )
    func moveUnsettled(carrier: Carrier) throws {
        var limits = LinkLimits()
        limits.windowEvents = 4
        let first = try LinkPair(
            carrier,
            limits: limits,
            workerDispose: { _, head in head.sequence == 2 ? .handled : .pending }
        )
        for number in 1...6 { first.host.publish(number, from: LinkPair.hostSource) }
        #expect(first.workerDelegate.events.wait { $0.count >= 4 })
        first.worker.acknowledgeNow()
        // Event 5 took the place of event 2 in the window, so the acknowledgement of event 2 has arrived.
        #expect(first.workerDelegate.events.wait { $0.count == 5 })
        first.worker.close()
        #expect(first.hostDelegate.end.wait { $0 != nil })

        let poller = try Poller(name: "next")
        let next = Link(peerName: "canvas", role: .host, ownSource: LinkPair.hostSource, limits: limits, poller: poller)
        first.host.moveUnsettled(to: next)
        next.put(7, from: LinkPair.hostSource)
        #expect(next.outboxDepth.events == 6)
        let (near, far) = try carrier.pair(poller)
        let peer = ManualPeer(far)
        let delegate = RecordingDelegate()
        try next.start(over: near, delegate: delegate)
        next.established(
            peerSource: EventSource(origin: "canvas", incarnation: 23),
            ownIncarnation: LinkPair.hostSource.incarnation,
            peerWindowBytes: 1_048_576,
            peerWindowEvents: 100,
            peerFrameBytes: 1_048_576
        )
        next.releaseEvents()
        var heads: [EventHead] = []
        for _ in 0..<6 {
            let body = try #require(peer.receive())
            heads.append(try body.withUnsafeBytes { try EventFrame.decode($0, limits: limits).head })
        }
        #expect(heads.map(\.sequence) == [1, 2, 3, 4, 5, 6])
        #expect(heads.map(\.id) == [1, 3, 4, 5, 6, 7].map { .sender(number: $0) })
        #expect(heads.map(\.attempt) == [2, 2, 2, 2, 1, 1])
        #expect(heads.allSatisfy { $0.name == .text("BoxSaved") })
        next.close()
        delegate.end.wait { $0 != nil }
        first.shutDown()
        poller.stop()
    }

    @Test(
        "C16: 100,000 events each way arrive complete and in order through a stream that cuts and stalls",
        arguments: Carrier.allCases
    )
    func chunking(carrier: Carrier) throws {
        let random = SeededGenerator.announced()
        let count = rounds(100_000)
        let state = Shared((host: 0, worker: 0, wrong: 0))
        let pair = try LinkPair(
            carrier,
            wrapHost: { ChunkingStream($0, random: random, poller: $1) },
            wrapWorker: { ChunkingStream($0, random: SeededGenerator(seed: random.seed &+ 1), poller: $1) },
            hostDispose: { _, head in
                state.change {
                    $0.host += 1
                    if head.id != .sender(number: UInt64($0.host)) { $0.wrong += 1 }
                }
                return .handled
            },
            workerDispose: { _, head in
                state.change {
                    $0.worker += 1
                    if head.id != .sender(number: UInt64($0.worker)) { $0.wrong += 1 }
                }
                return .handled
            }
        )
        let other = try PlatformThread.startJoinable(name: "worker side") {
            for number in 1...count { pair.worker.publish(number, from: LinkPair.workerSource) }
        }
        for number in 1...count { pair.host.publish(number, from: LinkPair.hostSource) }
        other.join()
        #expect(state.wait { $0.host == count && $0.worker == count }, "seed \(random.seed)")
        #expect(state.value.wrong == 0, "seed \(random.seed)")
        for link in [pair.host, pair.worker] {
            let isQuiet = Shared(false)
            link.whenQuiet { isQuiet.change { $0 = true } }
            #expect(isQuiet.wait { $0 }, "seed \(random.seed)")
        }
        #expect(pair.hostDelegate.end.value == nil && pair.workerDelegate.end.value == nil)
        pair.shutDown()
    }
}
