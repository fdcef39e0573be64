import Dispatch
import TestSupport
import Testing

@testable import DomainEvents

private struct Bell: DomainEvent {}

@Suite("A handler knows what it is handling", .timeLimit(.minutes(5)))
struct ContextTests {
    private let publisher = EventPublisher()

    @Test func outsideHandlersThereIsNoContext() {
        #expect(EventContext.current == nil)
        publisher.publish(Ping())
        #expect(EventContext.current == nil)
    }

    @Test func anEventWithoutContentIsNotReadFromWhereItLies() throws {
        let target = UnsafeMutableRawPointer.allocate(byteCount: Bell.rawSize, alignment: 16)
        defer { target.deallocate() }
        // No process maps its first page.
        Bell.copyRaw(from: try #require(UnsafeRawPointer(bitPattern: 8)), to: target)
    }

    @Test func anEventWithoutContentHasItsCauseEverywhere() async throws {
        let causes = Collected<EventContext?>()
        let contexts = Collected<EventContext?>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] _ in
                causes.add(EventContext.current)
                publisher.publish(Bell())
            },
            publisher.subscribe(to: Bell.self) { _ in contexts.add(EventContext.current) },
            publisher.subscribe(to: Bell.self, on: .queue(DispatchQueue(label: "bells"))) { _ in
                contexts.add(EventContext.current)
            },
            publisher.subscribe(to: Bell.self) { _ in
                await Task.yield()
                contexts.add(EventContext.current)
            },
        ]
        publisher.publish(Ping())
        let cause = try #require(await causes.wait(for: 1)[0]).id
        for context in await contexts.wait(for: 3) {
            #expect(context?.cause == cause)
            #expect(context?.root.origin == "host")
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func insideEveryKindOfHandlerThereIsTheSameOne() async throws {
        let log = Collected<EventContext?>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { _ in log.add(EventContext.current) },
            publisher.subscribe(to: Ping.self, on: .main) { _ in log.add(EventContext.current) },
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { _ in
                log.add(EventContext.current)
            },
            publisher.subscribe(to: Ping.self) { _ in
                await Task.yield()
                log.add(EventContext.current)
            },
        ]
        publisher.publish(Ping())
        let contexts = try await log.wait(for: 4).map { try #require($0) }
        #expect(Set(contexts.map(\.id)).count == 1)
        for context in contexts {
            #expect(context.cause == nil)
            #expect(context.root == context.id)
            #expect(context.attempt == 1)
            #expect(context.id.origin == "host")
            #expect(context.nanosecondsSinceEpoch > 0)
        }
        #expect(EventContext.current == nil)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func eachEventHasAnIdentityOfItsOwn() {
        let log = Collected<EventID?>()
        let subscription = publisher.subscribe(to: Ping.self) { _ in
            log.add(EventContext.current?.id)
            log.add(EventContext.current?.id)
        }
        for number in 0..<100 { publisher.publish(Ping(number)) }
        let ids = log.all.compactMap(\.self)
        #expect(ids.count == 200)
        #expect(Set(ids).count == 100)
        #expect(ids.map(\.number) == ids.map(\.number).sorted())
        subscription.cancel()
    }

    @Test func whatAHandlerPublishesIsCausedByWhatItHandles() throws {
        let log = Collected<EventContext?>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] event in
                log.add(EventContext.current)
                if event.number < 3 { publisher.publish(Ping(event.number + 1)) }
            }
        ]
        publisher.publish(Ping(1))
        let contexts = try log.all.map { try #require($0) }
        #expect(contexts.map(\.cause) == [nil, contexts[0].id, contexts[1].id])
        #expect(contexts.map(\.root) == Array(repeating: contexts[0].id, count: 3))
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func alsoOnQueuesInTasksAndFromOnePublisherToAnother() async throws {
        let other = EventPublisher()
        let log = Collected<EventContext?>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { [publisher] _ in
                log.add(EventContext.current)
                publisher.publish(Pong())
            },
            publisher.subscribe(to: Pong.self) { event in
                log.add(EventContext.current)
                await Task.yield()
                other.publish(event)
            },
            other.subscribe(to: Pong.self) { _ in log.add(EventContext.current) },
        ]
        publisher.publish(Ping())
        let contexts = try await log.wait(for: 3).map { try #require($0) }
        #expect(contexts[0].cause == nil)
        #expect(contexts[1].cause == contexts[0].id)
        #expect(contexts[2].cause == contexts[1].id)
        #expect(contexts[2].root == contexts[0].id)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func theContextOfTheOuterEventIsBackAfterANestedPublish() {
        let log = Collected<EventID?>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] _ in
                log.add(EventContext.current?.id)
                publisher.publish(Pong())
                log.add(EventContext.current?.id)
            },
            publisher.subscribe(to: Ping.self) { _ in log.add(EventContext.current?.id) },
            publisher.subscribe(to: Pong.self) { _ in },
        ]
        publisher.publish(Ping())
        #expect(Set(log.all).count == 1)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test("a task that outlives its asynchronous handler still names the cause, by each call")
    func inATaskThatOutlivesItsHandler() async throws {
        let (handled, causes) = (Collected<EventID?>(), Collected<EventID?>())
        let returned = Barrier()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] (event: Ping) async in
                handled.add(EventContext.current?.id)
                // The second call begins when the first one has returned.
                if event.number > 0 { return returned.open() }
                Task {
                    await returned.pass()
                    publisher.publish(Pong(0))
                    try await publisher.send(Pong(1))
                    try await publisher.deliver(Pong(2), within: .seconds(60))
                }
            },
            publisher.subscribe(to: Pong.self) { _ in causes.add(EventContext.current?.cause) },
        ]
        for number in 0..<2 { publisher.publish(Ping(number)) }
        await causes.wait(for: 3)
        #expect(handled.all[0] != nil)
        #expect(causes.all == [EventID?](repeating: handled.all[0], count: 3))
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func workHandedOnNamesItsCauseItself() async throws {
        let log = Collected<EventContext?>()
        let held = Holder<EventContext>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { _ in held.swap(EventContext.current) },
            publisher.subscribe(to: Pong.self) { _ in log.add(EventContext.current) },
        ]
        publisher.publish(Ping())
        let cause = try #require(held.current)
        await onThreads(1) { [publisher] _ in
            publisher.publish(Pong())
            publisher.publish(Pong(), causedBy: cause)
        }
        #expect(log.all.map { $0?.cause } == [nil, cause.id])
        for subscription in subscriptions { subscription.cancel() }
    }
}

@Suite("Publishers are independent", .timeLimit(.minutes(5)))
struct PublisherTests {
    @Test func anEventReachesOnlyTheSubscribersOfItsPublisher() {
        let (first, second) = (EventPublisher(), EventPublisher())
        let log = Collected<String>()
        let subscriptions = [
            first.subscribe(to: Ping.self) { log.add("first \($0.number)") },
            second.subscribe(to: Ping.self) { log.add("second \($0.number)") },
        ]
        first.publish(Ping(1))
        second.publish(Ping(2))
        #expect(log.all == ["first 1", "second 2"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func theSharedOneIsReplacedForATaskTreeOnly() async {
        let replacement = EventPublisher()
        let standard = EventPublisher.shared
        #expect(standard === EventPublisher.shared)
        #expect(EventPublisher.withShared(replacement) { EventPublisher.shared } === replacement)
        await EventPublisher.withShared(replacement) {
            async let child = EventPublisher.shared
            let detached = await Task.detached { EventPublisher.shared }.value
            let unstructured = await Task { EventPublisher.shared }.value
            #expect(await child === replacement)
            #expect(unstructured === replacement)
            #expect(detached === standard)
        }
        #expect(EventPublisher.shared === standard)
    }

    @Test func sendReturnsTheIdentityThatHandlersSee() async throws {
        let publisher = EventPublisher()
        let log = Collected<EventID?>()
        let subscription = publisher.subscribe(to: Ping.self) { _ in log.add(EventContext.current?.id) }
        let id = try await publisher.send(Ping())
        #expect(log.all == [id])
        subscription.cancel()
    }

    @Test func aPublisherIsReleasedThoughSubscriptionsAreKept() {
        weak var released: EventPublisher?
        var subscriptions: [Subscription] = []
        do {
            let publisher = EventPublisher()
            released = publisher
            subscriptions = [
                publisher.subscribe(to: Ping.self) { _ in },
                publisher.subscribe(to: Ping.self) { _ in await Task.yield() },
                publisher.subscribe(to: Ping.self, on: .main) { _ in },
            ]
            publisher.publish(Pong())
        }
        #expect(released == nil)
        for subscription in subscriptions { subscription.cancel() }
    }
}
