import Dispatch
import DomainEvents
import Testing

@Suite("A handler that throws is reported once", .timeLimit(.minutes(5)))
struct FailureTests {
    private let publisher = EventPublisher()

    @Test func inlineWithTheEventsNameItsIdentityAndTheError() {
        let failures = Log<HandlerFailed>()
        let ids = Log<String>()
        let after = Log<Int>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { failures.write($0) },
            publisher.subscribe(to: Ping.self) { event in
                ids.write(EventContext.current?.id.description ?? "none")
                throw Refused(number: event.number)
            },
            publisher.subscribe(to: Ping.self) { after.write($0.number) },
        ]
        publisher.publish(Ping(7))
        #expect(after.entries == [7])
        #expect(failures.entries.map(\.event) == ["Ping"])
        #expect(failures.entries.map(\.error) == ["refused 7"])
        #expect(failures.entries.map(\.id) == ids.entries)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onAQueueAndInATask() async {
        let failures = Log<String>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { failures.write($0.error) },
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
        #expect(failures.entries == ["refused 1", "refused 2"])
        for subscription in subscriptions { await subscription.cancelAndWait() }
        #expect(failures.count == 2)
    }

    @Test func inANestedPublishWithTheNestedEventsIdentity() {
        let failures = Log<HandlerFailed>()
        let causes = Log<String>()
        let subscriptions = [
            publisher.subscribe(to: HandlerFailed.self) { event in
                failures.write(event)
                causes.write(EventContext.current?.cause?.description ?? "none")
            },
            publisher.subscribe(to: Ping.self) { [publisher] _ in publisher.publish(Pong()) },
            publisher.subscribe(to: Pong.self) { _ in throw Refused(number: 1) },
        ]
        publisher.publish(Ping())
        #expect(failures.entries.map(\.event) == ["Pong"])
        #expect(failures.entries.map(\.id) == causes.entries)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test(arguments: ["inline", "queue", "task"])
    func andTheReportsOwnHandlerMayThrowToo(place: String) async {
        let calls = Log<String>()
        let other = Log<String>()
        var subscriptions = [publisher.subscribe(to: Ping.self) { _ in throw Refused(number: 1) }]
        switch place {
        case "inline":
            subscriptions.append(
                publisher.subscribe(to: HandlerFailed.self) { event in
                    calls.write(event.event)
                    throw Refused(number: 2)
                }
            )
        case "queue":
            subscriptions.append(
                publisher.subscribe(to: HandlerFailed.self, on: .queue(DispatchQueue(label: "handlers"))) { event in
                    calls.write(event.event)
                    throw Refused(number: 2)
                }
            )
        default:
            subscriptions.append(
                publisher.subscribe(to: HandlerFailed.self) { event in
                    await Task.yield()
                    calls.write(event.event)
                    throw Refused(number: 2)
                }
            )
        }
        subscriptions.append(publisher.subscribe(to: HandlerFailed.self) { other.write($0.event) })
        publisher.publish(Ping())
        await calls.wait(for: 1)
        for subscription in subscriptions { await subscription.cancelAndWait() }
        #expect(calls.entries == ["Ping"])
        #expect(other.entries == ["Ping"])
    }
}
