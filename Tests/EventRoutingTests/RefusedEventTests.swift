import BridgeProtocol
import BridgeTransport
import TestSupport
import Testing

@testable import DomainEvents
@testable import EventRouting

private struct BasketSpilled: DomainEvent {
    let count: Int
}

private struct BasketTorn: Error {}

@Suite("An event that a peer refuses", .timeLimit(.minutes(2)))
struct RefusedEventTests {
    @Test(
        "becomes a dead letter, and the link hears of it; not in a worker, not for an attached peer, and no report does",
        arguments: [false, true]
    )
    func letter(isOwed: Bool) throws {
        for (keepsLetters, isAttached, name) in [
            (true, false, "Box"), (false, false, "Box"), (true, true, "Box"), (true, false, EventRefused.eventName),
        ] {
            let bench = try RoutingBench(keepsLetters: keepsLetters)
            let peer = bench.peer("canvas", isAttached: isAttached)
            var head = EventHead(
                sequence: 1,
                id: .sender(number: 1),
                nanosecondsSinceEpoch: 1,
                name: .text(name)
            )
            // No publisher here waits for it.
            head.wantsReceipt = isOwed
            let isKept = [UInt8(0xA0)].withUnsafeBytes { payload in
                PeerEvents(of: peer, to: bench.router).link(
                    peer.link,
                    wasRefused: head,
                    payload: payload,
                    isOwed: isOwed,
                    refusal: Refusal(sequence: 1, reason: 2, text: "no")
                )
            }
            #expect(isKept == (keepsLetters && !isAttached && name == "Box"))
            // Only a letter's event may come again.
            #expect(peer.link.hasOwed == isKept)
            let letters = bench.router.deadLetters?.letters ?? []
            #expect(letters.map(\.event.isOwed) == (isKept ? [isOwed] : []))
            bench.router.stop()
        }
    }

    @Test("or that it may not publish, is reported by the host once the peer's process can read no refusal")
    func forbidden() async throws {
        let (bench, refused) = (try RoutingBench(keepsLetters: true), Collected<EventRefused>())
        let subscription = bench.publisher.subscribe(to: EventRefused.self) { refused.add($0) }
        let peer = bench.peer("canvas")
        for sequence: UInt64 in 1...2 {
            // The stream is not at its end: what the process has sent is still being read.
            if sequence == 2 { peer.link.peerIsGone() }
            let disposition = try bench.receive(
                sequence,
                .text("Box"),
                payload: [0xA0],
                from: peer,
                publishable: EventName.set(["Else"])
            )
            guard case .refused(.forbidden, let text) = disposition else {
                Issue.record("event \(sequence) was not refused")
                return
            }
            #expect(text == "worker \"canvas\" may not publish Box")
        }
        await refused.wait(for: 1)
        #expect(refused.all.map(\.id) == [EventID(origin: "canvas", incarnation: 7, number: 2).description])
        #expect(refused.all.allSatisfy { $0.worker == "host" && $0.code == 4 })
        bench.router.stop()
        subscription.cancel()
    }

    /// A payload that the handler here refuses, and one that cannot be decoded.
    private static let refused: [[UInt8]] = [[0xA1, 0x65] + Array("count".utf8) + [0x01], [0xA0]]

    @Test("or this process refuses, fills its sender's window while another has no room for it", arguments: refused)
    func crowded(payload: [UInt8]) throws {
        let bench = try RoutingBench(keepsLetters: true)
        let handled = Collected<Int>()
        let subscription = bench.publisher.subscribe(to: BasketSpilled.self) { event in
            handled.add(event.count)
            throw BasketTorn()
        }
        var limits = LinkLimits()
        limits.outboxBytes = LinkLimits.minimumCharge
        let (slow, sender) = (bench.peer("slow", wants: ["BasketSpilled"], limits: limits), bench.peer("sender"))
        bench.router.exchange(adding: [slow, sender])
        bench.router.start()
        let disposition = try bench.receive(1, .text("BasketSpilled"), payload: payload, from: sender)
        guard case .pending = disposition else {
            Issue.record("\(disposition)")
            return
        }
        #expect(slow.statistics.waiting == 1)
        #expect(handled.all == (payload == [0xA0] ? [] : [1]))
        // What becomes of the event here does not wait.
        #expect(bench.router.deadLetters?.letters.map(\.receiver) == ["host"])
        bench.router.stop()
        subscription.cancel()
    }

    @Test("is reported with the peer's reason, which counts as bytes of the reports that wait for a slow handler")
    func longReasons() async throws {
        let bench = try RoutingBench(keepsLetters: true)
        let (entered, opened) = (Collected<Void>(), Collected<Void>())
        let (told, dropped) = (Collected<String>(), Collected<EventsDropped>())
        @Sendable func held(_ report: String) {
            if told.count == 0 {
                entered.add(())
                waitUntil { opened.count != 0 }
            }
            told.add(report)
        }
        let subscriptions = [
            bench.publisher.subscribe(to: EventRefused.self) { held($0.reason) },
            bench.publisher.subscribe(to: EventDeadLettered.self) { held($0.reasons.joined()) },
            bench.publisher.subscribe(to: EventsDropped.self) { dropped.add($0) },
        ]
        // As long as a refusal's text is at most. 4,096 reports of it have no room in 16 MiB.
        let reason = String(repeating: "\u{1F4E6}", count: 1_024)
        let peer = bench.peer("canvas")
        for sequence: UInt64 in 1...2_048 {
            let head = EventHead(
                sequence: sequence,
                id: .sender(number: sequence),
                nanosecondsSinceEpoch: 1,
                name: .text("Box")
            )
            _ = [UInt8(0xA0)].withUnsafeBytes { payload in
                PeerEvents(of: peer, to: bench.router).link(
                    peer.link,
                    wasRefused: head,
                    payload: payload,
                    isOwed: false,
                    refusal: Refusal(sequence: sequence, reason: 2, text: reason)
                )
            }
            if sequence == 1 { await entered.wait(for: 1) }
        }
        opened.add(())
        await bench.router.reports.passed()
        #expect(told.all.allSatisfy { $0 == reason })
        let lost = dropped.all.reduce(0) { $0 + $1.count }
        #expect(lost > 0 && told.count + lost == 2 * 2_048, "\(told.count) of the reports had room")
        bench.router.stop()
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("or misses, and whose number this side did not give out, ends the link, also if the peer may not publish all")
    func unknownNumber() throws {
        let bench = try RoutingBench(keepsLetters: true)
        let peer = bench.peer("canvas")
        for publishable in [nil, EventName.set(["Else"])] {
            let events = PeerEvents(of: peer, to: bench.router, publishable: publishable)
            #expect(throws: LinkViolation("event 1 has name number 99, which this side did not give out")) {
                try bench.receive(1, .number(99), payload: [0xA0], from: peer, by: events)
            }
            let range = GapFrame.Range(first: .sender(number: 1), last: 1)
            let gap = GapFrame(sequence: 2, name: .number(99), count: 1, reason: 0, ranges: [range])
            #expect(throws: LinkViolation("gap 2 has name number 99, which this side did not give out")) {
                try events.link(peer.link, received: gap)
            }
        }
        bench.router.stop()
    }

    @Test(
        "becomes a dead letter when the call of a publisher here ends with another error, and none if it ends with this",
        arguments: [false, true]
    )
    func undecided(isClaimed: Bool) throws {
        let bench = try RoutingBench(keepsLetters: true)
        let peer = bench.peer("canvas")
        let context = bench.makeContext()
        let ledger = ReceiptLedger(of: "Box", context: context) { _ in }
        bench.router.receipts.add(ledger)
        for name in ["canvas", "other"] { ledger.expect(bench.router.receipts.process(name)) }
        var head = EventHead(
            sequence: 1,
            id: .sender(number: context.id.number),
            nanosecondsSinceEpoch: 1,
            name: .text("Box")
        )
        head.wantsReceipt = true
        func refuse() -> Bool {
            [UInt8(0xA0)].withUnsafeBytes { payload in
                PeerEvents(of: peer, to: bench.router).link(
                    peer.link,
                    wasRefused: head,
                    payload: payload,
                    isOwed: true,
                    refusal: Refusal(sequence: 1, reason: 2, text: "no")
                )
            }
        }
        // The link leaves it to the decision to tell the journal.
        #expect(refuse())
        #expect(bench.router.deadLetters?.letters.isEmpty == true)
        #expect(peer.link.hasOwed)
        // The receipt says the same again.
        let outcome = Receipt.Outcome.refused.rawValue
        let receipt = Receipt(
            id: .sender(number: context.id.number),
            process: "canvas",
            outcome: outcome,
            text: "no"
        )
        #expect(bench.router.receipts.receive(receipt, of: context.id))
        ledger.close(claiming: isClaimed ? 0 : nil)
        #expect(peer.link.hasOwed == !isClaimed)
        let letters = bench.router.deadLetters?.letters ?? []
        #expect(letters.map(\.receiver) == (isClaimed ? [] : ["canvas"]))
        #expect(letters.map(\.reasons) == (isClaimed ? [] : [["no"]]))
        #expect(letters.allSatisfy { $0.event.isOwed && $0.event.payload == [0xA0] })
        bench.router.stop()
    }
}
