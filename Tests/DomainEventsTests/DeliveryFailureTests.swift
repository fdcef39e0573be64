import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("What a caller of deliver is told when handlers throw or do not return", .timeLimit(.minutes(1)))
struct DeliveryFailureTests {
    private let publisher = EventPublisher()
    private let clock = HandClock()
    private let began = Collected<Int>()
    private let held = Collected<UnsettledDelivery<Ping>>()
    private let reports = Collected<String>()

    /// Delivers Ping 1, lets its time end when an async handler has begun, and returns the error.
    private func errorAtTheEndOfTheTime() async -> (any Error)? {
        let delivery = Task { [publisher, clock] in
            try await publisher.deliver(Ping(1), within: .seconds(5), clock: clock)
        }
        await began.wait(for: 1)
        await clock.asleep.wait(for: 1)
        clock.advance(by: .seconds(5))
        return await #expect(throws: (any Error).self) { try await delivery.value }
    }

    @Test("the inline handlers that are not done, also one that has not begun, are named when its time is over")
    func plainHandlersThatAreNotDone() async throws {
        let mayReturn = Flag()
        let quick = publisher.subscribe(to: Ping.self) { _ in }
        let line = #line + 1
        let slow = publisher.subscribe(to: Ping.self) { [began] in
            began.add($0.number)
            waitUntil { mayReturn.isSet }
        }
        let last = publisher.subscribe(to: Ping.self) { _ in }
        let error = await errorAtTheEndOfTheTime() as? DeliveryError
        mayReturn.set()
        #expect(error?.code == .timedOut)
        let sites = [line, line + 4].map { "at \(#fileID):\($0)" }.joined(separator: ", ")
        #expect(error?.description.hasSuffix("within 5.0 seconds; not done: the handler \(sites)") == true)
        for subscription in [quick, slow, last] { subscription.cancel() }
    }

    // MARK: - The errors that the caller is not told

    /// Subscribes handlers whose deliveries the test settles, and notes which errors are reported.
    private func subscribeHolding(_ count: Int) -> [Subscription] {
        let holding = (1...count).map { _ in
            publisher.subscribe(to: Ping.self, on: .queue(.global()), acknowledging: .manually) { [held] in
                held.add($0)
            }
        }
        return holding + [publisher.subscribe(to: HandlerFailed.self) { [reports] in reports.add($0.error) }]
    }

    /// Delivers Ping 1, and returns when all holding handlers have it.
    private func deliver(to count: Int) async -> Task<DeliveryReceipt, any Error> {
        let delivery = Task { [publisher, clock] in
            try await publisher.deliver(Ping(1), within: .seconds(5), clock: clock)
        }
        await held.wait(for: count)
        await clock.asleep.wait(for: 1)
        return delivery
    }

    @Test("the error of one handler is thrown; those of the others are reported, each once and by its own publisher")
    func othersAreReported() async {
        let (other, elsewhere, failures) = (EventPublisher(), Collected<String>(), Collected<HandlerFailed>())
        let line = #line + 3
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { _ in throw Refused(number: 1) },
            publisher.subscribe(to: Ping.self) { _ in throw Refused(number: 2) },
            publisher.subscribe(to: Ping.self) { _ in },
            publisher.forward(Ping.self, to: other),
            other.subscribe(to: Ping.self) { _ in throw Refused(number: 3) },
            publisher.subscribe(to: HandlerFailed.self) { failures.add($0) },
            other.subscribe(to: HandlerFailed.self) { elsewhere.add($0.error) },
        ]
        await #expect(throws: Refused(number: 1)) { try await publisher.deliver(Ping(1), within: .seconds(60)) }
        #expect(failures.all.map(\.error) == ["refused 2"])
        #expect(failures.all.map(\.event) == ["Ping"])
        #expect(failures.all.map(\.handler) == ["\(#fileID):\(line)"])
        #expect(elsewhere.all == ["refused 3"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("an error that is known at the end of the time is thrown, and one that comes later is reported")
    func endOfTheTime() async {
        let subscriptions = subscribeHolding(2)
        let delivery = await deliver(to: 2)
        held.all[0].refuse(Refused(number: 1))
        clock.advance(by: .seconds(5))
        await #expect(throws: Refused(number: 1)) { try await delivery.value }
        #expect(reports.all.isEmpty)
        held.all[1].refuse(Refused(number: 2))
        #expect(reports.all == ["refused 2"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("all errors are reported if the caller is told of its cancellation")
    func cancelled() async {
        let subscriptions = subscribeHolding(2)
        let delivery = await deliver(to: 2)
        held.all[0].refuse(Refused(number: 1))
        #expect(reports.all.isEmpty)
        delivery.cancel()
        await #expect(throws: CancellationError.self) { try await delivery.value }
        #expect(reports.all == ["refused 1"])
        held.all[1].refuse(Refused(number: 2))
        #expect(reports.all == ["refused 1", "refused 2"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("an error that comes after the answer of a request is reported")
    func behindTheAnswer() async throws {
        let subscriptions = subscribeHolding(1)
        let request = Task { [publisher] in
            try await publisher.request(Ping(1), awaiting: Pong.self, within: .seconds(60))
        }
        let delivery = try #require(await held.wait(for: 1).first)
        publisher.publish(Pong(2), causedBy: delivery.context)
        #expect(try await request.value == Pong(2))
        delivery.refuse(Refused(number: 1))
        #expect(reports.all == ["refused 1"])
        for subscription in subscriptions { subscription.cancel() }
    }
}
