import BridgeProtocol
import BridgeTransport
import DomainEvents
import TestSupport
import Testing

@testable import EventRouting

@Suite("A worker that crashes over a report of the bridge", .timeLimit(.minutes(2)))
struct ReportCrashTests {
    @Test("pays for each crash itself; at the last strike the report is dropped and announced, and is no dead letter")
    func report() async throws {
        let (bench, dropped) = (try RoutingBench(keepsLetters: true), Collected<EventsDropped>())
        let subscriptions = [
            bench.publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
            // With its type, the router knows the name as a report's.
            bench.publisher.subscribe(to: EventRefused.self) { _ in },
        ]
        bench.router.start()
        let peer = bench.peer("worker", wants: [EventRefused.eventName])
        bench.router.add(peer)
        let context = bench.makeContext()
        try peer.put(context, EventRefused.eventName)
        for _ in 1...3 {
            #expect(peer.statistics.waiting == 1)
            let verdict = bench.router.workerCrashed(
                peer,
                over: peer.link,
                because: "it crashed",
                suspects: [context.id]
            )
            #expect(verdict == .worker)
        }
        #expect(peer.statistics.waiting == 0 && peer.statistics.deadLettered == 1)
        #expect(bench.router.deadLetters?.letters.isEmpty == true)
        let announced = try #require(await dropped.wait(for: 1).first)
        #expect(announced.event == EventRefused.eventName && announced.link == "worker" && announced.count == 1)
        #expect(announced.first == context.id.description)
        bench.router.stop()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("is broken as soon as it has given up three of them in a row")
    func broken() throws {
        let bench = try RoutingBench(keepsLetters: true)
        let subscription = bench.publisher.subscribe(to: EventRefused.self) { _ in }
        bench.router.start()
        let peer = bench.peer("worker", wants: [EventRefused.eventName])
        bench.router.add(peer)
        var verdicts: [CrashLedger.Verdict] = []
        for _ in 1...3 {
            let context = bench.makeContext()
            try peer.put(context, EventRefused.eventName)
            for _ in 1...3 {
                verdicts.append(
                    bench.router.workerCrashed(peer, over: peer.link, because: "it crashed", suspects: [context.id])
                )
            }
        }
        #expect(verdicts == Array(repeating: CrashLedger.Verdict.worker, count: 8) + [.broken])
        #expect(bench.router.deadLetters?.letters.isEmpty == true)
        bench.router.stop()
        subscription.cancel()
    }
}
