import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import Testing

/// An event for several peers waits in each link until it lies in all of their outboxes.
@Suite("Held events", .timeLimit(.minutes(5)))
struct HeldEventTests {
    @Test(
        "a held event and those behind it do not leave before it is released, whatever is written meanwhile",
        arguments: Carrier.allCases,
        [false, true]
    )
    func heldUntilReleased(carrier: Carrier, isWrittenAtOnce: Bool) throws {
        let pair = try LinkPair(carrier)
        let context = EventContext(id: EventID(source: LinkPair.hostSource, number: 2), nanosecondsSinceEpoch: 1)
        pair.host.publish(1, from: LinkPair.hostSource)
        let outcome = payload(2).withUnsafeBytes {
            pair.host.enqueue(context, name: "BoxSaved", isHeld: true, payload: $0)
        }
        guard case .accepted(let sequence, _) = outcome else {
            Issue.record("event 2 was not taken: \(outcome)")
            return
        }
        pair.host.publish(3, from: LinkPair.hostSource)
        // Events leave ahead of messages: if they had left at all, they would have come before this message.
        pair.host.send(.heartbeat)
        pair.workerDelegate.messages.wait { $0.count == 2 }
        // The event is noted at the end of its handler, when another thread may have read on.
        pair.workerDelegate.events.wait { !$0.isEmpty }
        #expect(pair.workerDelegate.events.value.map(\.number) == [1])
        #expect(!pair.host.isBusy(at: context.nanosecondsSinceEpoch))
        if isWrittenAtOnce {
            pair.host.releaseAndFlush(sequence, at: WallClock.now())
        } else {
            pair.host.release(sequence)
            pair.host.flush(at: WallClock.now())
        }
        #expect(pair.workerDelegate.events.wait { $0.count == 3 })
        #expect(pair.workerDelegate.events.value.map(\.number) == [1, 2, 3])
        pair.shutDown()
    }
}
