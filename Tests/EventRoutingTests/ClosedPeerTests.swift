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
}
