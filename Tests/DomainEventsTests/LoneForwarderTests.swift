import DomainEvents
import TestSupport
import Testing

private struct Sent: DomainEvent { var number = 0 }
private struct Nested: DomainEvent {}

/// Calls a closure with what it is asked to carry.
private final class Calling: EventForwarder {
    private let body: @Sendable (EventContext) -> Void
    private let gone: Flag?

    init(gone: Flag? = nil, _ body: @escaping @Sendable (EventContext) -> Void) {
        self.body = body
        self.gone = gone
    }

    deinit { gone?.set() }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        body(context.context)
        return .taken
    }

    var hasRoom: Bool { true }
    func waitForRoom<E: DomainEvent>(for event: E) async throws {}
    var isWantedElsewhere: Bool { true }
}

/// A thread that calls the only forwarder of a name counts no reference to it: its slot names the list.
@Suite("A forwarder that alone gets a publisher's events", .timeLimit(.minutes(5)))
struct LoneForwarderTests {
    private final class Owner: Sendable {}
    private let publisher = EventPublisher()
    private let owner = Owner()

    enum Way: CaseIterable, CustomTestStringConvertible {
        case publish, send
        var testDescription: String { "\(self)" }

        func run(_ publisher: EventPublisher) async throws {
            switch self {
            case .publish: publisher.publish(Sent())
            case .send: try await publisher.send(Sent())
            }
        }
    }

    /// The code that encodes an event may publish others, and a bridge may stop meanwhile.
    @Test(arguments: Way.allCases)
    func livesUntilItsCallEnds(_ way: Way) async throws {
        let (publisher, owner, gone) = (publisher, owner, Flag())
        let (nested, wasGone) = (Counter(), Collected<Bool>())
        let other = Calling { _ in nested.add() }
        publisher.setForwarding(of: Nested.eventName, by: owner, to: other)
        publisher.setForwarding(
            of: Sent.eventName,
            by: owner,
            to: Calling(gone: gone) { [unowned owner] _ in
                publisher.publish(Nested())
                publisher.setForwarding(of: Sent.eventName, by: owner, to: nil)
                // Looks for lists that no slot names any more.
                publisher.setForwarding(of: Sent.eventName, by: owner, to: other)
                wasGone.add(gone.isSet)
            }
        )
        try await way.run(publisher)
        #expect(nested.count == 1)
        #expect(wasGone.all == [false])
        // The call that has ended was the last to use the list.
        #expect(gone.isSet)
        try await way.run(publisher)
        #expect(nested.count == 2)
    }

    @Test(arguments: Way.allCases)
    func theIdentityIsTheContexts(_ way: Way) async throws {
        let (publisher, seen) = (publisher, Collected<EventContext>())
        publisher.setForwarding(of: Sent.eventName, by: owner, to: Calling { seen.add($0) })
        if way == .send { #expect(try await publisher.send(Sent()) == seen.all.first?.id) }
        try await way.run(publisher)
        let subscription = publisher.subscribe(to: Nested.self) { _ in publisher.publish(Sent()) }
        publisher.publish(Nested())
        withExtendedLifetime(subscription) {}
        #expect(seen.all.map(\.cause).map { $0 != nil } == (way == .send ? [false, false, true] : [false, true]))
        #expect(seen.all.map(\.id.number) == seen.all.map(\.id.number).sorted())
        #expect(seen.all.allSatisfy { $0.attempt == 1 && $0.nanosecondsSinceEpoch > 0 })
    }

    /// Whatever form the context of the event in hand has, and whether the handler has asked for it or not.
    @Test(arguments: [false, true], [nil, Traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")])
    func inheritsFromTheEventInHand(_ asks: Bool, _ trace: Traceparent?) throws {
        let (publisher, seen, inHand) = (publisher, Collected<EventContext>(), Collected<EventContext>())
        publisher.setForwarding(of: Sent.eventName, by: owner, to: Calling { seen.add($0) })
        let subscription = publisher.subscribe(to: Nested.self) { _ in
            if asks, let context = EventContext.current { inHand.add(context) }
            publisher.publish(Sent())
            publisher.publish(Sent(number: 1))
            if !asks, let context = EventContext.current { inHand.add(context) }
        }
        if let trace { publisher.publish(Nested(), traceparent: trace) } else { publisher.publish(Nested()) }
        let first = try #require(inHand.all.first)
        publisher.publish(Nested(), causedBy: first)
        withExtendedLifetime(subscription) {}
        let causes = inHand.all.flatMap { [$0, $0] }
        #expect(seen.all.count == 4 && seen.all.map(\.cause) == causes.map(\.id))
        #expect(seen.all.map(\.root) == Array(repeating: first.id, count: 4))
        #expect(seen.all.allSatisfy { $0.traceparent == trace })
        #expect(Set(seen.all.map(\.id)).count == 4)
    }
}
