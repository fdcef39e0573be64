import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import TestSupport
import Testing

@testable import BridgeTransport

/// The fates of events that are published while a link ends in an orderly way.
@Suite("A link that is asked to end", .timeLimit(.minutes(5)))
struct LinkEndingTests {
    /// Where the worker's outbox lies.
    enum Outbox: CaseIterable, Sendable {
        /// In memory that the two sides share.
        case shared
        /// In the worker's own memory, as none is shared.
        case own
        /// In the worker's own memory: the worker leaves the shared memory alone.
        case unused

        func wrapHost(_ stream: any ByteStream) -> any ByteStream { self == .own ? BareStream(stream) : stream }
        func wrapWorker(_ stream: any ByteStream) -> any ByteStream { self == .shared ? stream : BareStream(stream) }
    }

    private static let source = LinkPair.workerSource

    @Test(
        "what a handler publishes between the wish to end and the goodbye goes before the goodbye",
        arguments: Outbox.allCases
    )
    func answerBeforeGoodbye(outbox: Outbox) throws {
        let gated = Shared<GatedStream?>(nil)
        let pair = try LinkPair(
            .memory,
            recoversOutbox: true,
            wrapHost: { stream, _ in outbox.wrapHost(stream) },
            wrapWorker: { stream, _ in
                let made = GatedStream(outbox.wrapWorker(stream))
                gated.change { $0 = made }
                return made
            },
            workerDispose: { link, head in
                link.put(Int(head.sequence.asWritten), from: Self.source)
                return .handled
            }
        )
        let stream = try #require(gated.value)
        // Another thread of the worker is in the middle of a write when the worker is asked to end.
        stream.isOpen.change { $0 = false }
        let writer = try PlatformThread.startJoinable(name: "test") { pair.worker.send(.ready) }
        stream.isHeld.wait { $0 }
        pair.worker.finish(reason: .shutdown, text: "drained")
        pair.host.publish(1, from: LinkPair.hostSource)
        #expect(pair.workerDelegate.events.wait { $0.count == 1 })
        stream.isOpen.change { $0 = true }
        writer.join()
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        pair.host.peerIsGone()
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        // The host may forget the event, and the answer has arrived.
        #expect(pair.hostDelegate.events.value.map(\.number) == [1])
        pair.shutDown()
    }

    @Test("what is published behind the goodbye arrives when the process has ended", arguments: Carrier.allCases)
    func behindGoodbye(carrier: Carrier) throws {
        let pair = try LinkPair(carrier, recoversOutbox: true)
        pair.worker.publish(1, from: Self.source)
        pair.worker.finish(reason: .shutdown, text: "drained")
        pair.worker.publish(2, from: Self.source)
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        guard case .accepted = pair.worker.put(3, from: Self.source) else {
            Issue.record("event 3 was not taken")
            return
        }
        // From here on no process can publish.
        pair.worker.close()
        #expect(pair.worker.put(4, from: Self.source) == .ended)
        pair.host.peerIsGone()
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        #expect(pair.hostDelegate.events.value.map(\.number) == [1, 2, 3])
        pair.shutDown()
    }

    @Test("without shared memory what is published behind the goodbye is refused, and what waits to be heard of always")
    func refusedBehindGoodbye() throws {
        let pair = try LinkPair(
            .memory,
            wrapHost: { stream, _ in BareStream(stream) },
            wrapWorker: { stream, _ in BareStream(stream) }
        )
        pair.worker.finish(reason: .shutdown, text: "drained")
        // The other side may have closed the stream by now.
        #expect([.finished, .ended].contains(pair.worker.put(1, from: Self.source)))
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        #expect(pair.worker.put(2, from: Self.source) == .ended)
        pair.shutDown()
        let sharing = try LinkPair(.memory)
        sharing.worker.finish(reason: .shutdown, text: "drained")
        #expect(sharing.workerDelegate.end.wait { $0 != nil })
        var evicted: [Evicted] = []
        let context = EventContext(id: EventID(source: Self.source, number: 1), nanosecondsSinceEpoch: 1)
        let outcome = payload(1).withUnsafeBytes {
            sharing.worker.enqueue(context, name: "a", wantsReceipt: true, payload: $0, evicted: &evicted)
        }
        #expect(outcome == .finished)
        sharing.shutDown()
    }

    @Test("the room for what waits to be heard of is given back when the event is refused behind the goodbye")
    func roomBehindGoodbye() throws {
        let pair = try LinkPair(.memory)
        pair.worker.finish(reason: .shutdown, text: "drained")
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        let context = EventContext(id: EventID(source: Self.source, number: 1), nanosecondsSinceEpoch: 1)
        let outcome = payload(1).withUnsafeBytes { payload -> Enqueued? in
            guard case .reserved(let room) = pair.worker.reserve(for: payload, name: "a", ifFull: .fail) else {
                return nil
            }
            #expect(pair.worker.lock.withLock { pair.worker.sending.reservedBytes } > 0)
            var evicted: [Evicted] = []
            return pair.worker.enqueue(
                context,
                name: "a",
                wantsReceipt: true,
                reservation: room,
                payload: payload,
                evicted: &evicted
            )
        }
        #expect(outcome == .finished)
        #expect(pair.worker.lock.withLock { pair.worker.sending.reservedBytes } == 0)
        pair.shutDown()
    }

    @Test("threads that go on publishing do not keep a worker with shared memory from ending")
    func firehose() throws {
        let pair = try LinkPair(.memory, recoversOutbox: true, hostDispose: { _, _ in .pending })
        let isOver = Shared(false)
        let sent = Shared(0)
        let sensor = try PlatformThread.startJoinable(name: "test") {
            while !isOver.value {
                let number = sent.value + 1
                guard case .accepted = pair.worker.put(number, from: Self.source) else { return }
                sent.change { $0 = number }
                pair.worker.flush(at: WallClock.now())
            }
        }
        #expect(pair.hostDelegate.events.wait { !$0.isEmpty })
        let isDrained = Shared(false)
        pair.worker.whenDrained {
            pair.worker.finish(reason: .shutdown, text: "drained")
            isDrained.change { $0 = true }
        }
        // The host is slow with each event, but takes all of them.
        var handled: UInt64 = 0
        waitUntil {
            let arrived = UInt64(pair.hostDelegate.events.value.count)
            while handled < arrived {
                handled += 1
                pair.host.eventHandled(handled)
            }
            return pair.workerDelegate.end.value != nil
        }
        // The end may be known before `finish` has returned.
        #expect(isDrained.wait { $0 })
        isOver.change { $0 = true }
        sensor.join()
        pair.worker.close()
        pair.host.peerIsGone()
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        #expect(pair.hostDelegate.events.value.map(\.number) == (1...sent.value).map { UInt64($0) })
        pair.shutDown()
    }

    @Test("behind the end nothing waits for room that cannot come: the outbox fills up to its hard limit")
    func noRoomComes() async throws {
        var limits = LinkLimits()
        limits.outboxBytes = 2 * LinkLimits.minimumCharge
        limits.outboxHardBytes = 3 * LinkLimits.minimumCharge
        let pair = try LinkPair(.memory, limits: limits, recoversOutbox: true)
        pair.worker.finish(reason: .shutdown, text: "drained")
        pair.workerDelegate.end.wait { $0 != nil }
        for number in 1...3 {
            #expect(pair.worker.hasRoom(for: "BoxSaved"))
            try await pair.worker.waitForRoom()
            pair.worker.publish(number, from: Self.source)
        }
        #expect(pair.worker.put(4, from: Self.source) == .full(limit: limits.outboxHardBytes))
        pair.worker.close()
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.hostDelegate.events.value.map(\.number) == [1, 2, 3])
        pair.shutDown()
    }
}
