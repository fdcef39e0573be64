import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

/// Large events whose frames stay in memory that both sides share.
@Suite("Large events over shared memory", .serialized, .timeLimit(.minutes(5)))
struct PlacedEventTests {
    private static let source = LinkPair.workerSource

    /// A byte string of `count` bytes that differs between events from its first to its last byte.
    private static func large(_ number: Int, _ count: Int = 100_000) -> [UInt8] {
        let head = [0x5A] + withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
        return head + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: count)
    }

    /// The content of an event; every third event is small.
    private static func content(_ number: Int) -> [UInt8] {
        number % 3 == 0 ? payload(number) : large(number, 40_000 + number * 1_000)
    }

    /// Counts what is written.
    private final class CountingStream: PassingStream, @unchecked Sendable {
        // Sendable: what it adds is guarded by its own lock.
        let counts = Shared((written: 0, underWay: 0))

        /// The bytes written, including writes that have not returned yet.
        var written: Int {
            counts.wait { $0.underWay == 0 }
            return counts.value.written
        }

        override func write(_ pieces: [UnsafeRawBufferPointer]) -> IOOutcome {
            counts.change { $0.underWay += 1 }
            let outcome = super.write(pieces)
            counts.change {
                $0.underWay -= 1
                if case .transferred(let count) = outcome { $0.written += count }
            }
            return outcome
        }
    }

    private struct Counted {
        let pair: LinkPair
        let host: CountingStream
        let worker: CountingStream

        init(
            _ carrier: Carrier,
            limits: LinkLimits = LinkLimits(),
            wrapHost: (any ByteStream, Poller) -> any ByteStream = { stream, _ in stream },
            wrapWorker: (any ByteStream, Poller) -> any ByteStream = { stream, _ in stream },
            workerDispose: @escaping @Sendable (Link, EventHead) throws -> EventDisposition = { _, _ in .handled }
        ) throws {
            let found = Shared<(host: CountingStream?, worker: CountingStream?)>((nil, nil))
            pair = try LinkPair(
                carrier,
                limits: limits,
                wrapHost: { stream, poller in
                    let made = CountingStream(wrapHost(stream, poller))
                    found.change { $0.host = made }
                    return made
                },
                wrapWorker: { stream, poller in
                    let made = CountingStream(wrapWorker(stream, poller))
                    found.change { $0.worker = made }
                    return made
                },
                workerDispose: workerDispose
            )
            host = try #require(found.value.host)
            worker = try #require(found.value.worker)
        }
    }

    @Test("they arrive whole and in order with the small ones, and not over the stream", arguments: Carrier.allCases)
    func fromWorker(_ carrier: Carrier) throws {
        let counted = try Counted(carrier)
        let pair = counted.pair
        for number in 1...300 { pair.worker.publish(number, from: Self.source, payload: Self.content(number)) }
        #expect(pair.hostDelegate.events.wait { $0.count == 300 })
        let events = pair.hostDelegate.events.value
        #expect(events.map(\.sequence) == Array(1...300))
        #expect(events.allSatisfy { $0.payload == Self.content(Int($0.number)) })
        let isQuiet = Shared(false)
        pair.worker.whenQuiet { isQuiet.change { $0 = true } }
        #expect(isQuiet.wait { $0 })
        #expect(pair.worker.outboxDepth == (0, 0))
        // A hundred small events, two hundred places, and a few control frames.
        #expect(counted.worker.written < 50_000)
        pair.shutDown()
    }

    @Test("so they do from the host, out of memory that only it writes to", arguments: Carrier.allCases)
    func fromHost(_ carrier: Carrier) throws {
        let counted = try Counted(carrier)
        let pair = counted.pair
        let source = LinkPair.hostSource
        for number in 1...300 { pair.host.publish(number, from: source, payload: Self.content(number)) }
        #expect(pair.workerDelegate.events.wait { $0.count == 300 })
        let events = pair.workerDelegate.events.value
        #expect(events.map(\.sequence) == Array(1...300))
        #expect(events.allSatisfy { $0.payload == Self.content(Int($0.number)) })
        let isQuiet = Shared(false)
        pair.host.whenQuiet { isQuiet.change { $0 = true } }
        #expect(isQuiet.wait { $0 })
        // Events without room in the memory go over the stream: 300 of them are 38 MB, more than the memory holds.
        #expect(counted.host.written < 38_000_000)
        let before = counted.host.written
        for number in 301...310 { pair.host.publish(number, from: source, payload: Self.large(number)) }
        #expect(pair.workerDelegate.events.wait { $0.count == 310 })
        #expect(counted.host.written - before < 2_000)
        pair.shutDown()
    }

    @Test("more than the host's memory has room for arrives all the same, in order", arguments: Carrier.allCases)
    func shelfIsFull(_ carrier: Carrier) throws {
        let pair = try LinkPair(carrier, workerDispose: { _, _ in .pending })
        for number in 1...150 {
            pair.host.publish(number, from: LinkPair.hostSource, payload: Self.large(number, 200_000))
        }
        for number in 1...150 {
            #expect(pair.workerDelegate.events.wait { $0.count >= number })
            pair.worker.eventHandled(UInt64(number))
            pair.worker.acknowledgeNow()
        }
        let events = pair.workerDelegate.events.value
        #expect(events.map(\.number) == Array(1...150))
        #expect(events.allSatisfy { $0.payload == Self.large(Int($0.number), 200_000) })
        pair.shutDown()
    }

    @Test("a worker without the memory gets them over the stream", arguments: Carrier.allCases)
    func workerWithoutMemory(_ carrier: Carrier) throws {
        let counted = try Counted(carrier, wrapWorker: { stream, _ in BareStream(stream) })
        let pair = counted.pair
        for number in 1...20 { pair.host.publish(number, from: LinkPair.hostSource, payload: Self.large(number)) }
        #expect(pair.workerDelegate.events.wait { $0.count == 20 })
        #expect(pair.workerDelegate.events.value.allSatisfy { $0.payload == Self.large(Int($0.number)) })
        // The last write may not have returned from the system yet, and is then not counted.
        #expect(counted.host.counts.wait { $0.written > 20 * 100_000 })
        pair.shutDown()
    }

    @Test(
        "N13: what a dead worker had not settled goes to its successor, the memory with it or not",
        arguments: Carrier.allCases
    )
    func successor(_ carrier: Carrier) throws {
        let first = try LinkPair(carrier, recoversOutbox: true, workerDispose: { _, _ in .pending })
        // Far more than the memory has room for.
        for number in 1...150 {
            first.host.publish(number, from: LinkPair.hostSource, payload: Self.large(number, 200_000))
        }
        #expect(first.workerDelegate.events.wait { $0.count >= 5 })
        first.worker.close()
        first.host.peerIsGone()
        #expect(first.hostDelegate.end.wait { $0 != nil })
        let sent = first.workerDelegate.events.value.count
        let second = try LinkPair(carrier, takesUpFrom: first.host)
        for number in 151...160 { second.host.publish(number, from: LinkPair.hostSource, payload: Self.large(number)) }
        #expect(second.workerDelegate.events.wait { $0.count == 160 })
        let events = second.workerDelegate.events.value
        #expect(events.map(\.number) == Array(1...160))
        #expect(events.allSatisfy { $0.payload == Self.large(Int($0.number), $0.number > 150 ? 100_000 : 200_000) })
        #expect(events.prefix(sent).allSatisfy { $0.attempt == 2 })
        #expect(events.dropFirst(sent + 5).allSatisfy { $0.attempt == 1 })
        first.shutDown()
        second.shutDown()
    }

    @Test("a host without the memory gets them over the stream", arguments: Carrier.allCases)
    func hostWithoutMemory(_ carrier: Carrier) throws {
        let counted = try Counted(carrier, wrapHost: { stream, _ in BareStream(stream) })
        let pair = counted.pair
        #expect(pair.host.features == [])
        for number in 1...20 { pair.worker.publish(number, from: Self.source, payload: Self.large(number)) }
        #expect(pair.hostDelegate.events.wait { $0.count == 20 })
        #expect(pair.hostDelegate.events.value.allSatisfy { $0.payload == Self.large(Int($0.number)) })
        #expect(counted.worker.counts.wait { $0.written > 20 * 100_000 })
        pair.shutDown()
    }

    @Test("a peer that acknowledges nothing gets them over the stream, because nothing says when it has read a place")
    func unconfirmed() throws {
        let poller = try Poller(name: "test")
        let delegate = RecordingDelegate(onMessage: { link, message in
            LinkPair.hostReceived(message, link, LinkLimits())
        })
        let features: LinkFeatures = [.takesPlacedEvents, .acknowledgesNothing]
        let (link, peer) = try ManualPeer.connected(to: delegate, poller, features: features)
        guard case .welcome = peer.receiveMessage() else {
            Issue.record("the host did not say welcome")
            return
        }
        for number in 1...3 { link.publish(number, from: LinkPair.hostSource, payload: Self.large(number)) }
        for number in 1...3 {
            let body = try #require(peer.receive())
            let payload = try body.withUnsafeBytes { body in
                Array(body[try EventFrame.decode(body, limits: LinkLimits()).payloadOffset...])
            }
            #expect(payload == Self.large(number))
        }
        link.close()
        poller.stop()
    }

    @Test("one larger than window and outbox goes alone", arguments: Carrier.allCases)
    func huge(_ carrier: Carrier) throws {
        let counted = try Counted(carrier)
        let pair = counted.pair
        for number in 1...3 { pair.worker.publish(number, from: Self.source, payload: Self.large(number, 10 << 20)) }
        #expect(pair.hostDelegate.events.wait { $0.count == 3 })
        #expect(pair.hostDelegate.events.value.allSatisfy { $0.payload == Self.large(Int($0.number), 10 << 20) })
        #expect(counted.worker.written < 1_000)
        pair.shutDown()
    }

    @Test("a refused one comes back to its sender as it was", arguments: Carrier.allCases)
    func refused(_ carrier: Carrier) throws {
        let pair = try LinkPair(carrier, hostDispose: { _, _ in .refused(.invalid, text: "no") })
        pair.worker.publish(1, from: Self.source, payload: Self.large(1))
        #expect(pair.workerDelegate.refused.wait { $0.count == 1 })
        #expect(pair.workerDelegate.refused.value.first?.payload == Self.large(1))
        pair.shutDown()
    }

    @Test(
        "while handlers are slow another thread takes out the next ones",
        arguments: Carrier.allCases
    )
    func slowHandlers(_ carrier: Carrier) throws {
        let others = Shared(0)
        let pair = try LinkPair(
            carrier,
            hostDispose: { _, head in
                // Wait until another thread reads on, which its acknowledgements show.
                if head.sequence == 1 { others.wait { $0 > 0 } }
                return .handled
            },
            workerDispose: { _, _ in
                others.change { $0 += 1 }
                return .handled
            }
        )
        for number in 1...10 { pair.worker.publish(number, from: Self.source, payload: Self.large(number)) }
        // The worker handles this only if the host's link goes on while its first event is in the handler.
        pair.host.publish(1, from: LinkPair.hostSource)
        #expect(pair.hostDelegate.events.wait { $0.count == 10 })
        #expect(pair.hostDelegate.events.value.allSatisfy { $0.payload == Self.large(Int($0.number)) })
        pair.shutDown()
    }

    @Test(
        "a worker killed with places unread and events unsent: each arrives once, in order",
        arguments: Carrier.allCases
    )
    func killed(_ carrier: Carrier) throws {
        var limits = LinkLimits()
        limits.windowEvents = 8
        limits.windowBytes = 64 << 20
        let isReleased = Shared(false)
        let gated = Shared<GatedStream?>(nil)
        let pair = try LinkPair(
            carrier,
            limits: limits,
            recoversOutbox: true,
            wrapWorker: { stream, _ in
                let made = GatedStream(stream)
                gated.change { $0 = made }
                return made
            },
            hostDispose: { _, head in
                if head.sequence == 1 { isReleased.wait { $0 } }
                return .pending
            }
        )
        for number in 1...30 { pair.worker.publish(number, from: Self.source, payload: Self.content(number)) }
        // Everything that the window lets out is written; the host is still in the first event's handler, or reads by
        // another thread.
        let worker = try #require(gated.value)
        worker.count.wait { $0 >= 1 }
        pair.worker.close()
        pair.host.peerIsGone()
        isReleased.change { $0 = true }
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        let events = pair.hostDelegate.events.value
        #expect(events.map(\.number) == Array(1...30))
        #expect(events.allSatisfy { $0.payload == Self.content(Int($0.number)) })
        #expect(pair.host.recoveredOutbox?.damage == nil)
        #expect(pair.host.loss == nil)
        pair.shutDown()
    }

    // MARK: - A hostile peer

    private struct Hostile {
        let poller: Poller
        let link: Link
        let delegate: RecordingDelegate
        let peer: ManualPeer
        let mapping: MemoryMapping?

        init(
            limits: LinkLimits = LinkLimits(),
            handshake: Bool = true,
            hasMemory: Bool = true,
            disposition: EventDisposition = .handled
        ) throws {
            poller = try Poller(name: "test")
            let (near, far) = MemoryStream.pair(poller: poller)
            link = Link(
                peerName: "canvas",
                role: .host,
                ownSource: LinkPair.hostSource,
                limits: limits,
                poller: poller
            )
            peer = ManualPeer(far)
            mapping = try far.memory?.map()
            delegate = RecordingDelegate(
                onMessage: { link, message in LinkPair.hostReceived(message, link, limits) },
                dispose: { _, _ in disposition }
            )
            try link.start(over: hasMemory ? near : BareStream(near), delegate: delegate)
            guard handshake else { return }
            peer.send(.hello(LinkPair.hello()))
            delegate.messages.wait { !$0.isEmpty }
        }

        /// Puts bytes into the memory.
        func store(_ bytes: [UInt8], at offset: Int) {
            mapping?.bytes[offset..<(offset + bytes.count)].copyBytes(from: bytes)
        }

        func send(_ sequence: UInt64, at offset: UInt64, _ length: UInt64) {
            peer.send(frame(PlacedFrame(sequence: sequence, offset: offset, length: length)))
        }

        func violation() -> String? {
            delegate.end.wait { $0 != nil }
            defer { poller.stop() }
            guard case .violation(let text) = delegate.end.value else { return nil }
            return text
        }
    }

    private static func event(_ sequence: UInt64) -> [UInt8] {
        let head = EventHead(
            sequence: sequence,
            id: .sender(number: sequence),
            nanosecondsSinceEpoch: 1,
            name: .text("BoxSaved")
        )
        return frame(head, payload: large(Int(sequence)))
    }

    @Test("an event may lie anywhere in the memory, and be changed as soon as it has been taken")
    func anywhere() throws {
        let hostile = try Hostile()
        let first = Self.event(1)
        let last = Self.event(2)
        let size = try #require(hostile.mapping).bytes.count
        hostile.store(first, at: 1)
        hostile.store(last, at: size - last.count)
        hostile.send(1, at: 1, UInt64(first.count))
        hostile.delegate.events.wait { $0.count == 1 }
        hostile.store([UInt8](repeating: 0xFF, count: first.count), at: 1)
        hostile.send(2, at: UInt64(size - last.count), UInt64(last.count))
        hostile.delegate.events.wait { $0.count == 2 }
        #expect(hostile.delegate.events.value.map(\.payload) == [Self.large(1), Self.large(2)])
        hostile.link.close()
        #expect(hostile.violation() == nil)
    }

    @Test("a place outside the memory ends the link, and is named", arguments: [0, 4, 1 << 25, UInt64.max])
    func outside(length: UInt64) throws {
        let hostile = try Hostile()
        hostile.send(1, at: 4_096, length)
        #expect(hostile.violation()?.contains("event 1 was placed with \(length) bytes") == true)
    }

    @Test(
        "a place beyond the memory's end ends the link, and is named",
        arguments: [1 << 40, UInt64.max - 4, UInt64.max]
    )
    func beyond(offset: UInt64) throws {
        let hostile = try Hostile()
        hostile.send(1, at: offset, 5)
        #expect(hostile.violation()?.contains("event 1 was placed at byte \(offset) with 5 bytes") == true)
    }

    @Test("what lies there and is not the event ends the link, and is named")
    func other() throws {
        let empty = try Hostile()
        empty.send(1, at: 4_096, 100)
        #expect(
            empty.violation()
                == "event 1 was placed with 100 bytes, but the frame there says that 0 follow its length"
        )
        let event = Self.event(2)
        let wrong = try Hostile()
        wrong.store(event, at: 8_192)
        wrong.send(1, at: 8_192, UInt64(event.count))
        #expect(wrong.violation() == "event 2 lies where event 1 was placed")
        let early = try Hostile()
        early.store(event, at: 8_192)
        early.send(2, at: 8_192, UInt64(event.count))
        #expect(early.violation() == "event with sequence 2 arrived where 1 was expected")
        let control = try Hostile()
        let heartbeat = frame(.heartbeat)
        control.store(heartbeat, at: 8_192)
        control.send(1, at: 8_192, UInt64(heartbeat.count))
        #expect(control.violation() != nil)
    }

    @Test("what was placed counts for the window at its full length")
    func window() throws {
        var limits = LinkLimits()
        limits.windowBytes = 250_000
        let hostile = try Hostile(limits: limits, disposition: .pending)
        for sequence in 1...3 as ClosedRange<UInt64> {
            let event = Self.event(sequence)
            hostile.store(event, at: 4_096)
            hostile.send(sequence, at: 4_096, UInt64(event.count))
            if sequence < 3 { hostile.delegate.events.wait { $0.count == Int(sequence) } }
        }
        #expect(hostile.violation()?.hasPrefix("event 3 exceeds the window: 2 events") == true)
    }

    @Test("a place before the handshake, or where no memory is shared, ends the link")
    func notAgreed() throws {
        let early = try Hostile(handshake: false)
        early.send(1, at: 4_096, 100)
        #expect(early.violation() == "a placed frame came before hello")
        let bare = try Hostile(hasMemory: false)
        bare.send(1, at: 4_096, 100)
        #expect(bare.violation() == "event 1 was placed in memory, though none is shared")
    }
}
