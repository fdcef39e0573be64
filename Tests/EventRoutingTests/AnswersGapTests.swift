import BridgeProtocol
import DomainEvents
import Testing

@testable import BridgeTransport
@testable import EventRouting

private struct StockAsked: DomainEvent {}
private struct StockAnswered: DomainEvent {}

/// Commands and answers pass between the host and attached peers only.
@Suite("A gap among commands or answers from a peer that may not send them", .timeLimit(.minutes(1)))
struct AnswersGapTests {
    @Test("reaches no other process", arguments: [StockAsked.eventName, StockAnswered.eventName])
    func reachesNone(_ name: String) throws {
        let bench = try RoutingBench(
            control: ControlNames(
                commands: EventName.set([StockAsked.eventName]),
                answers: EventName.set([StockAnswered.eventName])
            )
        )
        let (worker, client) = (bench.peer("worker"), bench.peer("client", isAttached: true))
        worker.link.establish(as: EventSource(origin: "worker", incarnation: 7))
        bench.router.add(worker)
        bench.router.add(client)
        bench.router.adopt([name], for: client)
        bench.router.start()
        let range = GapFrame.Range(first: .sender(number: 1), last: 1)
        let gap = GapFrame(sequence: 1, name: .text(name), count: 1, reason: 1, ranges: [range])
        try PeerEvents(of: worker, to: bench.router, publishable: nil).link(worker.link, received: gap)
        #expect(client.link.kept == 0)
    }
}
