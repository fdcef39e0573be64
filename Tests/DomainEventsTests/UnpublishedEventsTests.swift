import DomainEvents
import TestSupport
import Testing

private struct Nothing: DomainEvent {}

/// An event of 4 KiB that does not leave its process; its release is noticed.
private struct Heavy: DomainEvent {
    struct Eight<Part: Sendable>: Sendable {
        let (a, b, c, d, e, f, g, h): (Part, Part, Part, Part, Part, Part, Part, Part)

        init(_ part: Part) { (a, b, c, d, e, f, g, h) = (part, part, part, part, part, part, part, part) }
    }

    let number: Eight<Eight<Eight<Int>>>
    let tracked: Tracked?

    init(_ number: Int, _ tracked: Tracked?) {
        self.number = Eight(Eight(Eight(number)))
        self.tracked = tracked
    }

    init(from decoder: any Decoder) throws { self.init(try Int(from: decoder), nil) }

    func encode(to encoder: any Encoder) throws { try number.a.a.a.encode(to: encoder) }
}

@Suite("The events that a transaction holds", .timeLimit(.minutes(5)))
struct UnpublishedEventsTests {
    @Test("are of no bytes or of thousands, keep their causes, and are released once each")
    func ofAnySize() throws {
        let publisher = EventPublisher()
        let log = Collected<Int>()
        let contexts = Collected<EventContext?>()
        let live = Counter()
        let more = [
            publisher.subscribe(to: Heavy.self) { log.add($0.number.h.h.h) },
            publisher.subscribe(to: Nothing.self) { _ in contexts.add(EventContext.current) },
        ]
        publisher.publish(Nothing())
        let cause = try #require(contexts.all[0])
        publisher.transaction {
            for number in 0..<500 {
                publisher.publish(Heavy(number, Tracked(live)), causedBy: cause)
                publisher.publish(Nothing(), causedBy: cause)
                publisher.publish(Nothing())
            }
            #expect(live.count == 500)
        }
        #expect(log.all == Array(0..<500))
        #expect(live.count == 0)
        #expect(contexts.all.dropFirst().map { $0?.cause } == (0..<500).flatMap { _ in [cause.id, nil] })
        try? publisher.transaction {
            for number in 0..<500 { publisher.publish(Heavy(number, Tracked(live)), causedBy: cause) }
            throw Refused(number: 1)
        }
        #expect(live.count == 0)
        for subscription in more { subscription.cancel() }
    }
}
