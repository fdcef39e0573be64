import DomainEvents
import TestSupport
import Testing

@Suite("What a caller of deliver is told when handlers throw or do not return", .timeLimit(.minutes(1)))
struct DeliveryFailureTests {
    private let publisher = EventPublisher()
    private let clock = HandClock()
    private let began = Collected<Int>()

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

    @Test("the plain handlers that are not done, also one that has not begun, are named when its time is over")
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
}
