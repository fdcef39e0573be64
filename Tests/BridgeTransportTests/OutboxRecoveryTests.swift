import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

@Suite("A worker that has died: what it had accepted arrives", .serialized)
struct OutboxRecoveryTests {
    /// Limits with a window of four events: a host that handles none gets no more.
    private var narrow: LinkLimits {
        var limits = LinkLimits()
        limits.windowEvents = 4
        return limits
    }

    private static let source = LinkPair.workerSource

    @Test(
        "N3: events beyond the window follow those that were read, once each and in order",
        .timeLimit(.minutes(5)),
        arguments: Carrier.allCases
    )
    func restArrives(_ carrier: Carrier) throws {
        let pair = try LinkPair(carrier, limits: narrow, recoversOutbox: true, hostDispose: { _, _ in .pending })
        for number in 1...10_000 { pair.worker.publish(number, from: Self.source) }
        pair.hostDelegate.events.wait { $0.count == 4 }
        pair.worker.close()
        pair.hostDelegate.isReadToEnd.wait { $0 }
        // The process may still write: nothing is read before it has ended.
        #expect(pair.hostDelegate.end.value == nil)
        #expect(!pair.host.isQuiet)
        pair.host.peerIsGone()
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        let events = pair.hostDelegate.events.value
        #expect(events.count == 10_000)
        #expect(events.enumerated().allSatisfy { $1.number == UInt64($0 + 1) })
        #expect(events.allSatisfy { $0.payload == payload(Int($0.number)) })
        #expect(pair.host.recoveredOutbox?.events == 9_996)
        #expect(pair.host.recoveredOutbox?.isTorn == false)
        #expect(pair.host.recoveredOutbox?.damage == nil)
        #expect(pair.host.loss == nil)
        // Handlers that return later, and refusals, have no peer to report to.
        for sequence: UInt64 in [1, 9_000] {
            pair.host.eventHandled(sequence)
            pair.host.refuse(sequence, .handlerFailed, text: "late")
        }
        pair.shutDown()
    }

    @Test("a host is not quiet while an event that its worker has accepted has not arrived", .timeLimit(.minutes(5)))
    func acceptedIsNotQuiet() throws {
        let pair = try LinkPair(.memory, recoversOutbox: true, hostDispose: { _, _ in .handled })
        let isQuiet = Shared(false)
        let context = EventContext(id: EventID(source: Self.source, number: 1), nanosecondsSinceEpoch: 1)
        // As if the worker stood still after the outbox took the event and before the stream did.
        let outcome = payload(1).withUnsafeBytes {
            pair.worker.enqueue(context, name: "BoxSaved", isHeld: true, payload: $0)
        }
        guard case .accepted(let sequence, _) = outcome else {
            Issue.record("the event was not taken: \(outcome)")
            return
        }
        #expect(!pair.host.isQuiet)
        pair.host.whenQuiet { isQuiet.change { $0 = true } }
        #expect(!isQuiet.value)
        #expect(pair.hostDelegate.events.value.isEmpty)
        pair.worker.release(sequence)
        pair.worker.flush(at: WallClock.now())
        isQuiet.wait { $0 }
        #expect(pair.hostDelegate.events.value.count == 1)
        #expect(pair.host.isQuiet)
        pair.shutDown()
    }

    @Test("what a closed worker is offered is refused to its publisher", .timeLimit(.minutes(5)))
    func nothingIsAcceptedAfterTheEnd() throws {
        let pair = try LinkPair(.memory, recoversOutbox: true)
        pair.worker.close()
        #expect(pair.worker.put(1, from: Self.source) == .ended)
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.host.recoveredOutbox?.events == 0)
        pair.shutDown()
    }

    @Test(
        "an event whose answers lie in shared memory is let go at once, and they are found there",
        .timeLimit(.minutes(5))
    )
    func acknowledgementIsSettled() throws {
        let pair = try LinkPair(
            .socket,
            limits: narrow,
            recoversOutbox: true,
            hostDispose: { _, _ in .pending },
            workerDispose: { link, _ in
                for number in 1...10 { link.put(number, from: Self.source) }
                return .pending
            }
        )
        pair.host.publish(1, from: LinkPair.hostSource)
        pair.workerDelegate.events.wait { $0.count == 1 }
        pair.worker.eventHandled(1)
        pair.worker.acknowledgeNow()
        pair.hostDelegate.events.wait { $0.count == 4 }
        waitUntil { pair.host.outboxDepth.events == 0 }
        pair.worker.close()
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.hostDelegate.events.value.count == 10)
        #expect(pair.host.outboxDepth.events == 0)
        #expect(pair.host.recoveredOutbox?.suspects == [])
        pair.shutDown()
    }

    @Test("events that had begun and were not finished are suspects, the inline one marked", .timeLimit(.minutes(5)))
    func suspects() throws {
        let isReleased = Shared(false)
        let pair = try LinkPair(
            .socket,
            recoversOutbox: true,
            workerDispose: { _, head in
                if head.sequence == 1 { return .handled }
                if head.sequence < UInt64(4) { return .pending }
                isReleased.wait { $0 }
                return .handled
            }
        )
        for number in 1...5 { pair.host.publish(number, from: LinkPair.hostSource) }
        pair.workerDelegate.events.wait { $0.count == 3 }
        while pair.host.peerWork?.inline != 4 {}
        // As if the process were killed here: only its memory is left.
        pair.worker.close()
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        let suspects = try #require(pair.host.recoveredOutbox).suspects
        #expect(suspects.map(\.id) == (2...4).map { EventID(source: LinkPair.hostSource, number: $0) })
        #expect(suspects.allSatisfy { $0.name == "BoxSaved" && $0.attempt == 1 })
        isReleased.change { $0 = true }
        pair.shutDown()
    }

    @Test(
        "an event that was refused is no suspect, though the link was broken off before the host could hear of that",
        .timeLimit(.minutes(5))
    )
    func refusedOnBrokenLink() throws {
        var limits = LinkLimits()
        limits.frameBytes = 64 << 10
        let tooLarge = Interest(
            wanted: (1...1_000).map { Interest.Name(number: $0, name: String(repeating: "x", count: 100)) }
        )
        let pair = try LinkPair(
            .socket,
            limits: limits,
            recoversOutbox: true,
            workerDispose: { link, _ in
                link.queue(.interest(tooLarge))
                return .refused(.handlerFailed, text: "no")
            }
        )
        pair.host.publish(1, from: LinkPair.hostSource)
        #expect(pair.workerDelegate.end.wait { $0 != nil })
        pair.host.peerIsGone()
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        #expect(pair.hostDelegate.refused.value.isEmpty && pair.host.outboxDepth.events == 1)
        #expect(pair.host.recoveredOutbox?.suspects == [])
        pair.shutDown()
    }

    @Test("events that the worker may not publish are counted by themselves", .timeLimit(.minutes(5)))
    func forbidden() throws {
        let pair = try LinkPair(
            .socket,
            limits: narrow,
            recoversOutbox: true,
            hostDispose: { _, head in head.sequence == 7 ? .refused(.forbidden, text: "not that") : .pending }
        )
        for number in 1...10 { pair.worker.publish(number, from: Self.source) }
        pair.hostDelegate.events.wait { $0.count == 4 }
        pair.worker.close()
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.host.recoveredOutbox?.events == 6)
        #expect(pair.host.recoveredOutbox?.forbidden == 1)
        #expect(pair.host.recoveredOutbox?.missing == 0)
        #expect(pair.host.loss == nil)
        pair.shutDown()
    }

    @Test("an event of the memory that the host cannot take ends the reading and is named", .timeLimit(.minutes(5)))
    func violationInMemory() throws {
        let pair = try LinkPair(
            .socket,
            limits: narrow,
            recoversOutbox: true,
            hostDispose: { _, head in
                if head.sequence == 7 { throw LinkViolation("event 7 is not to be had") }
                return .pending
            }
        )
        for number in 1...10 { pair.worker.publish(number, from: Self.source) }
        pair.hostDelegate.events.wait { $0.count == 4 }
        pair.worker.close()
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.hostDelegate.events.value.count == 6)
        #expect(pair.host.recoveredOutbox?.events == 2)
        #expect(pair.host.recoveredOutbox?.missing == 4)
        #expect(pair.host.recoveredOutbox?.damage?.contains("event 7 is not to be had") == true)
        #expect(pair.host.loss?.arrived == 6)
        #expect(pair.host.loss?.count == 4)
        pair.shutDown()
    }

    @Test("a worker without memory leaves nothing, and its host says so", .timeLimit(.minutes(5)))
    func workerWithoutMemory() throws {
        let pair = try LinkPair(
            .socket,
            limits: narrow,
            recoversOutbox: true,
            wrapWorker: { stream, _ in BareStream(stream) },
            hostDispose: { _, _ in .pending }
        )
        for number in 1...10 { pair.worker.publish(number, from: Self.source) }
        pair.hostDelegate.events.wait { $0.count == 4 }
        pair.worker.close()
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.hostDelegate.events.value.count == 4)
        #expect(pair.host.recoveredOutbox == nil)
        // Six are lost, but the host cannot know that.
        let reason = "it ended without a goodbye, and shared no outbox"
        #expect(pair.host.loss == Link.Loss(arrived: 4, count: nil, reason: reason))
        pair.shutDown()
    }

    @Test("a worker without memory that says goodbye has lost nothing", .timeLimit(.minutes(5)))
    func goodbyeWithoutMemory() throws {
        let pair = try LinkPair(.socket, recoversOutbox: true, wrapWorker: { stream, _ in BareStream(stream) })
        for number in 1...10 { pair.worker.publish(number, from: Self.source) }
        #expect(pair.host.loss == nil)
        pair.worker.finish(reason: .shutdown, text: "drained")
        pair.hostDelegate.isReadToEnd.wait { $0 }
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.hostDelegate.events.value.count == 10)
        #expect(pair.host.loss == nil)
        pair.shutDown()
    }

    @Test("a host that closes the link does not wait for its worker's end", .timeLimit(.minutes(5)))
    func closingEndsTheWait() throws {
        let pair = try LinkPair(.socket, recoversOutbox: true)
        pair.worker.close()
        pair.hostDelegate.isReadToEnd.wait { $0 }
        pair.host.close()
        #expect(pair.hostDelegate.end.wait { $0 != nil })
        #expect(pair.host.recoveredOutbox == nil)
        pair.shutDown()
    }

    @Test(
        "events for the next incarnation that are offered meanwhile are kept as not delivered",
        .timeLimit(.minutes(5))
    )
    func offeredMeanwhile() throws {
        let pair = try LinkPair(.socket, recoversOutbox: true)
        pair.worker.close()
        pair.hostDelegate.isReadToEnd.wait { $0 }
        pair.host.publish(1, from: LinkPair.hostSource)
        pair.host.peerIsGone()
        pair.hostDelegate.end.wait { $0 != nil }
        let next = Link(
            peerName: "canvas",
            role: .host,
            ownSource: LinkPair.hostSource,
            limits: LinkLimits(),
            poller: pair.poller
        )
        pair.host.moveUnsettled(to: next)
        #expect(next.outboxDepth.events == 1)
        pair.shutDown()
    }
}
