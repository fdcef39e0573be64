import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("A handler that throws is reported once", .timeLimit(.minutes(5)))
struct FailureTests {
    private let publisher = EventPublisher()

    @Test func inlineWithTheEventsNameItsIdentityAndTheError() {
        let failures = Collected<HandlerFailed>()
        let ids = Collected<String>()
        let after = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { failures.add($0) },
            publisher.subscribe(to: Ping.self) { event in
                ids.add(EventContext.current?.id.description ?? "none")
                throw Refused(number: event.number)
            },
            publisher.subscribe(to: Ping.self) { after.add($0.number) },
        ]
        publisher.publish(Ping(7))
        #expect(after.all == [7])
        #expect(failures.all.map(\.event) == ["Ping"])
        #expect(failures.all.map(\.error) == ["refused 7"])
        #expect(failures.all.map(\.id) == ids.all)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onAQueueAndInATask() async {
        let failures = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { failures.add($0.error) },
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { event in
                throw Refused(number: event.number)
            },
            publisher.subscribe(to: Pong.self) { event in
                await Task.yield()
                throw Refused(number: event.number)
            },
        ]
        publisher.publish(Ping(1))
        await failures.wait(for: 1)
        publisher.publish(Pong(2))
        await failures.wait(for: 2)
        #expect(failures.all == ["refused 1", "refused 2"])
        for subscription in subscriptions { await subscription.cancelAndWait() }
        #expect(failures.count == 2)
    }

    @Test func inANestedPublishWithTheNestedEventsIdentity() {
        let failures = Collected<HandlerFailed>()
        let causes = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { event in
                failures.add(event)
                causes.add(EventContext.current?.cause?.description ?? "none")
            },
            publisher.subscribe(to: Ping.self) { [publisher] _ in publisher.publish(Pong()) },
            publisher.subscribe(to: Pong.self) { _ in throw Refused(number: 1) },
        ]
        publisher.publish(Ping())
        #expect(failures.all.map(\.event) == ["Pong"])
        #expect(failures.all.map(\.id) == causes.all)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test(arguments: ["inline", "queue", "task"])
    func andTheReportsOwnHandlerMayThrowToo(place: String) async {
        let calls = Collected<String>()
        let other = Collected<String>()
        var subscriptions = [publisher.subscribe(to: Ping.self) { _ in throw Refused(number: 1) }]
        switch place {
        case "inline":
            subscriptions.append(
                publisher.subscribe(to: HandlerFailed.self) { event in
                    calls.add(event.event)
                    throw Refused(number: 2)
                }
            )
        case "queue":
            subscriptions.append(
                publisher.subscribe(to: HandlerFailed.self, on: .queue(DispatchQueue(label: "handlers"))) { event in
                    calls.add(event.event)
                    throw Refused(number: 2)
                }
            )
        default:
            subscriptions.append(
                publisher.subscribe(to: HandlerFailed.self) { event in
                    await Task.yield()
                    calls.add(event.event)
                    throw Refused(number: 2)
                }
            )
        }
        subscriptions.append(publisher.subscribe(to: HandlerFailed.self) { other.add($0.event) })
        publisher.publish(Ping())
        await calls.wait(for: 1)
        for subscription in subscriptions { await subscription.cancelAndWait() }
        #expect(calls.all == ["Ping"])
        #expect(other.all == ["Ping"])
    }
}
