import DomainEvents
import TestSupport
import Testing

@Suite("A trace context")
struct TraceparentTests {
    private static let text = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

    @Test func isReadAndWrittenAsTheHeaderFieldSpellsIt() throws {
        let traceparent = try #require(Traceparent(Self.text))
        #expect(traceparent.description == Self.text)
        #expect(traceparent.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(traceparent.parentID == "00f067aa0ba902b7")
        #expect(traceparent.isSampled)
        #expect(Traceparent(Self.text.dropLast() + "2")?.isSampled == false)
    }

    @Test func ofALaterVersionIsTakenForWhatIsKnownOfIt() {
        #expect(Traceparent("cc" + Self.text.dropFirst(2))?.description == Self.text)
        #expect(Traceparent("cc" + Self.text.dropFirst(2) + "-what-comes")?.description == Self.text)
    }

    private static let malformed: [String] = [
        "", "00", "\(text)-", "\(text)0", "cc\(text.dropFirst(2))0", "ff\(text.dropFirst(2))", text.uppercased(),
        String(text.dropLast()), text.replacing("-", with: "_"), "0x\(text.dropFirst(2))",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319ｃ-00f067aa0ba902b7-01",
    ]

    @Test(arguments: malformed)
    func isNotReadFromAnythingElse(_ text: String) {
        #expect(Traceparent(text) == nil)
    }

    @Test func goesToAllThatAHandlerPublishesAndGivesWayToOneOfItsOwn() throws {
        let publisher = EventPublisher()
        let outer = try #require(Traceparent(Self.text))
        let own = try #require(Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"))
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] event in
                log.add("ping \(EventContext.current?.traceparent?.parentID ?? "none")")
                publisher.publish(Pong(event.number))
                if event.number == 2 { publisher.publish(Pong(3), traceparent: own) }
            },
            publisher.subscribe(to: Pong.self) { event in
                let context = EventContext.current
                log.add(
                    "pong \(event.number) \(context?.traceparent?.parentID ?? "none") \(context?.cause?.number ?? 0)"
                )
            },
        ]
        publisher.publish(Ping(1))
        publisher.publish(Ping(2), traceparent: outer)
        #expect(
            log.all == [
                "ping none", "pong 1 none 1",
                "ping 00f067aa0ba902b7", "pong 2 00f067aa0ba902b7 3", "pong 3 b7ad6b7169203331 3",
            ]
        )
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func isKeptByATransactionUntilItsEnd() throws {
        let publisher = EventPublisher()
        let outer = try #require(Traceparent(Self.text))
        let log = Collected<String>()
        let subscription = publisher.subscribe(to: Ping.self) { _ in
            log.add(EventContext.current?.traceparent?.description ?? "none")
        }
        publisher.transaction {
            publisher.publish(Ping(1), traceparent: outer)
            #expect(log.count == 0)
        }
        #expect(log.all == [Self.text])
        subscription.cancel()
    }
}
