import DomainEvents
import Locks
import Testing

private struct ConnectionPrepared: DomainEvent {}

// The compiler tells a caller that forgets to keep a subscription: `subscribe` is not `@discardableResult`, so a call
// with an unused result is a warning, and in this package an error. No test can show that; a test can show the effect.

@Suite("Scenario: a subscription lives as long as its owner keeps it")
struct UnretainedSubscriptionScenario {
    private final class Counter: @unchecked Sendable {
        // Sendable: `number` is guarded by `lock`.
        private let lock = Lock()
        private var number = 0

        var value: Int { lock.withLock { number } }

        func count() { lock.withLock { number += 1 } }
    }

    /// As in the application that forgot it, but on purpose.
    private final class ConnectionController {
        private var subscription: Subscription?

        init(publisher: EventPublisher, counter: Counter, keepsIt: Bool) {
            let subscription = publisher.subscribe(to: ConnectionPrepared.self) { _ in counter.count() }
            if keepsIt { self.subscription = subscription }
        }
    }

    private let publisher = EventPublisher()
    private let counter = Counter()

    @Test func itEndsAtOnceIfNothingKeepsIt() {
        let controller = ConnectionController(publisher: publisher, counter: counter, keepsIt: false)
        publisher.publish(ConnectionPrepared())
        #expect(counter.value == 0)
        #expect(!publisher.isWanted("ConnectionPrepared"))
        withExtendedLifetime(controller) {}
    }

    @Test func itEndsWithItsOwner() {
        do {
            let controller = ConnectionController(publisher: publisher, counter: counter, keepsIt: true)
            publisher.publish(ConnectionPrepared())
            withExtendedLifetime(controller) {}
        }
        publisher.publish(ConnectionPrepared())
        #expect(counter.value == 1)
        #expect(!publisher.isWanted("ConnectionPrepared"))
    }

    /// The effect is loud, too: a publisher that must know that an event is heard asks for that.
    @Test func aDeliveryWithoutSubscribersIsRefused() async throws {
        let controller = ConnectionController(publisher: publisher, counter: counter, keepsIt: false)
        let error = await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(ConnectionPrepared(), within: .seconds(50))
        }
        #expect(error?.code == .noSubscriber)
        withExtendedLifetime(controller) {}
    }
}
