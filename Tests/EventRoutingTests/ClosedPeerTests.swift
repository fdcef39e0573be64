import Locks
import TestSupport
import Testing

@testable import BridgeTransport
@testable import DomainEvents
@testable import EventRouting

@Suite("A publisher that waits for the receipt of a peer which is closed", .timeLimit(.minutes(1)))
struct ClosedPeerTests {
    private static let name = "ParcelSaved"

    @Test("is told, also if that happens in the moment in which the peer's outbox takes the event")
    func closedInBetween() async throws {
        let bench = try RoutingBench()
        let peer = bench.peer("worker", wants: [Self.name])
        bench.router.add(peer)
        let topic = try #require(bench.router.named(Self.name))
        let context = bench.makeContext()
        let (failures, sent) = (Collected<DeliveryError.Code?>(), Collected<Bool>())
        let ledger = ReceiptLedger(of: Self.name, context: context) { outcome in
            guard case .failed(let failure, _) = outcome else { return }
            failures.add((failure as? DeliveryError)?.code)
        }
        let link = peer.link
        await onThreads(1) { _ in
            link.lock.lock()
            Task {
                _ = topic.sendToAll(
                    UnsafeRawBufferPointer(start: nil, count: 0),
                    context: context,
                    receipts: ledger,
                    to: [peer],
                    attached: [],
                    by: bench.router
                )
                sent.add(true)
            }
            // It is about to keep room for the event.
            waitUntilWanted(link.lock)
            peer.lock.lock()
            link.lock.unlock()
            // It is about to see that the peer takes events.
            waitUntilWanted(peer.lock)
            link.lock.lock()
            peer.lock.unlock()
            // It has seen that, and is about to put the event in. As closing does, after which the outbox is looked
            // through: it has no event yet.
            waitUntilWanted(link.lock)
            peer.lock.withLock { peer.closure = Peer.Closure(reason: "it was given up", isGivenUp: true) }
            link.lock.unlock()
        }
        await sent.wait(for: 1)
        #expect(failures.all == [.workerUnavailable])
    }

    @Test(
        "is told of one such peer, and the losses of the others are announced, as is this one if it is told otherwise",
        arguments: [false, true]
    )
    func severalClosed(isClaimed: Bool) async throws {
        let bench = try RoutingBench()
        let peers = ["a", "b"].map { bench.peer($0, wants: [Self.name]) }
        for peer in peers { bench.router.add(peer) }
        let topic = try #require(bench.router.named(Self.name))
        let dropped = Collected<String>()
        let subscription = bench.publisher.subscribe(to: EventsDropped.self) { dropped.add($0.link) }
        for peer in peers { peer.close(because: "it was stopped") }
        let context = bench.makeContext()
        let ledger = ReceiptLedger(of: Self.name, context: context) { _ in }
        var held: HeldEvents?
        let sent = topic.send(
            UnsafeRawBufferPointer(start: nil, count: 0),
            context: context,
            wantsReceipt: true,
            to: peers,
            attached: [],
            receipts: ledger,
            held: &held,
            by: bench.router
        )
        #expect(sent.losses.map(\.peerName) == ["a", "b"])
        ledger.close(claiming: isClaimed ? 0 : nil)
        bench.router.losses.announce()
        let announced = isClaimed ? ["b"] : ["a", "b"]
        #expect(await dropped.wait(for: announced.count).sorted() == announced)
        bench.router.stop()
        subscription.cancel()
    }
}
