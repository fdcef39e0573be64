import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

@Suite("From one incarnation of a worker to the next", .serialized)
struct SuccessionTests {
    private static let source = LinkPair.hostSource

    private static func id(_ number: UInt64) -> EventID { EventID(source: source, number: number) }

    /// A link that was never attached, as it waits for the next incarnation.
    private func nextLink(_ poller: Poller) -> Link {
        Link(peerName: "canvas", role: .host, ownSource: Self.source, limits: LinkLimits(), poller: poller)
    }

    @Test(
        "a worker that did not say what it was at may have died of anything that it was sent",
        .timeLimit(.minutes(5))
    )
    func withoutMemory() throws {
        let pair = try LinkPair(.socket, workerDispose: { _, head in head.sequence == 1 ? .handled : .pending })
        for number in 1...3 { pair.host.publish(number, from: Self.source) }
        pair.workerDelegate.events.wait { $0.count == 3 }
        pair.worker.acknowledgeNow()
        // All its acknowledgements come before its end.
        pair.worker.close()
        pair.hostDelegate.end.wait { $0 != nil }
        #expect(pair.host.unfinished.suffix(2) == [Self.id(2), Self.id(3)])
        pair.shutDown()
    }

    @Test(
        "an event that is not sent again leaves no gap that the worker sees, and the others are still suspected",
        .timeLimit(.minutes(5))
    )
    func eventIsTakenOut() throws {
        let first = try LinkPair(.socket, workerDispose: { _, _ in .pending })
        for number in 1...4 { first.host.publish(number, from: Self.source) }
        first.workerDelegate.events.wait { $0.count == 4 }
        first.worker.close()
        first.hostDelegate.end.wait { $0 != nil }

        let waiting = nextLink(first.poller)
        first.host.moveUnsettled(to: waiting)
        #expect(waiting.predecessorCrashed(suspects: first.host.unfinished, because: "crash") == .several)
        waiting.setPaused(true)
        #expect(waiting.isQuiet)
        let last = nextLink(first.poller)
        let taken = waiting.retire(movingTo: last, without: 2)
        #expect(taken?.context.id == Self.id(2))
        #expect(taken?.attempts == 1)
        #expect(taken?.name == "BoxSaved")
        #expect(taken?.payload == payload(2))
        #expect(waiting.put(5, from: Self.source) == .ended)
        #expect(last.outboxDepth.events == 3)
        #expect(last.put(5, from: Self.source) == .accepted(sequence: 4, isCrowded: false))
        // The other events are still suspects: a crash with one of them open is blamed on it.
        let finding = last.predecessorCrashed(suspects: [Self.id(3)], because: "again")
        #expect(finding == .struck(sequence: 2, strikes: ["again"]))
        first.shutDown()
    }
}
