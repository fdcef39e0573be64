import Dispatch
import DomainEvents
import Testing

@Suite("Events arrive in the order in which they were published", .timeLimit(.minutes(5)))
struct OrderTests {
    private let publisher = EventPublisher()
    private let numbers = Array(0..<2_000)

    @Test func onThePublishingThreadAtOnce() {
        let log = Log<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { log.write($0.number) }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(log.entries == numbers)
        subscription.cancel()
    }

    @Test(arguments: [false, true])
    func onAQueueOneAtATimeAlsoWhenItIsConcurrent(isConcurrent: Bool) async {
        let queue = DispatchQueue(label: "handlers", attributes: isConcurrent ? .concurrent : [])
        let log = Log<Int>()
        let running = Counter()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { event in
            #expect(running.add() == 1)
            running.add(-1)
            log.write(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func onTheMainActor() async {
        let log = Log<Int>()
        let subscription = publisher.subscribe(to: Ping.self, on: .main) { event in
            MainActor.preconditionIsolated()
            log.write(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func inAnAsynchronousHandlerEachCallAfterTheOneBefore() async {
        let log = Log<Int>()
        let running = Counter()
        let subscription = publisher.subscribe(to: Ping.self) { event in
            #expect(running.add() == 1)
            await Task.yield()
            running.add(-1)
            log.write(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func inASequence() async throws {
        var iterator = publisher.events(of: Ping.self).makeAsyncIterator()
        for number in numbers { publisher.publish(Ping(number)) }
        var seen: [Int] = []
        while seen.count < numbers.count, let event = try await iterator.next() { seen.append(event.number) }
        #expect(seen == numbers)
    }

    @Test func ofATaskThatChangesThreads() async {
        let inline = Log<Int>()
        let queued = Log<Int>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { inline.write($0.number) },
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) {
                queued.write($0.number)
            },
        ]
        await Task.detached { [publisher, numbers] in
            for number in numbers {
                publisher.publish(Ping(number))
                await Task.yield()
            }
        }.value
        #expect(inline.entries == numbers)
        #expect(await queued.wait(for: numbers.count) == numbers)
        for subscription in subscriptions { subscription.cancel() }
    }
}

@Suite("What a handler publishes follows the event in hand", .timeLimit(.minutes(5)))
struct NestedPublishTests {
    private let publisher = EventPublisher()

    @Test func itIsDeliveredAfterTheOuterEventHasReachedAllAndBeforePublishReturns() {
        let log = Log<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] event in
                log.write("first \(event.number)")
                publisher.publish(Pong(event.number))
                log.write("first done")
            },
            publisher.subscribe(to: Ping.self) { event in log.write("second \(event.number)") },
            publisher.subscribe(to: Pong.self) { event in log.write("pong \(event.number)") },
        ]
        publisher.publish(Ping(1))
        #expect(log.entries == ["first 1", "first done", "second 1", "pong 1"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func theSameTypeMayBePublishedRecursivelyAndIsDeliveredBreadthFirst() {
        let log = Log<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            log.write(event.number)
            guard event.number < 8 else { return }
            publisher.publish(Ping(event.number * 2))
            publisher.publish(Ping(event.number * 2 + 1))
        }
        publisher.publish(Ping(1))
        #expect(log.entries == Array(1...15))
        subscription.cancel()
    }

    @Test func aLongChainNeedsNeitherStackNorMemoryThatGrows() {
        let count = Counter()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            count.add()
            if event.number > 0 { publisher.publish(Ping(event.number - 1)) }
        }
        publisher.publish(Ping(100_000))
        #expect(count.count == 100_001)
        subscription.cancel()
    }

    @Test func aHandlerOfAnotherPublisherHearsItAfterTheOuterEventToo() {
        let other = EventPublisher()
        let log = Log<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { event in
                other.publish(Ping(event.number + 1))
                log.write("published elsewhere")
            },
            publisher.subscribe(to: Ping.self) { _ in log.write("here") },
            other.subscribe(to: Ping.self) { _ in log.write("there") },
        ]
        publisher.publish(Ping())
        #expect(log.entries == ["published elsewhere", "here", "there"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onAQueueItFollowsTheHandlerThatPublishedIt() async {
        let log = Log<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { [publisher] _ in
                publisher.publish(Pong())
                log.write("handler done")
            },
            publisher.subscribe(to: Pong.self) { _ in log.write("pong") },
        ]
        publisher.publish(Ping())
        #expect(await log.wait(for: 2) == ["handler done", "pong"])
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func subscribingInAHandlerStartsWithTheNextEvent() {
        let log = Log<Int>()
        let inner = Holder<Subscription>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] event in
            if event.number == 1 { inner.swap(publisher.subscribe(to: Ping.self) { log.write($0.number) }) }
        }
        publisher.publish(Ping(1))
        publisher.publish(Ping(2))
        #expect(log.entries == [2])
        subscription.cancel()
    }

    @Test func anObjectWhoseEndPublishesMayDieWithADelivery() {
        let live = Counter()
        let log = Log<Int>()
        let inner = Holder<Subscription>()
        // The nested delivery is the last to hold the subscriber, and with it the object.
        func subscribeTracked() -> Subscription {
            let tracked = Tracked(live) { [publisher] in publisher.publish(Ping(-1)) }
            return publisher.subscribe(to: Pong.self) { _ in withExtendedLifetime(tracked) {} }
        }
        inner.swap(subscribeTracked())
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] event in
                log.write(event.number)
                guard event.number == 1 else { return }
                publisher.publish(Pong(1))
                inner.swap(nil)
            }
        ]
        publisher.publish(Ping(1))
        #expect(log.entries == [1, -1])
        #expect(live.count == 0)
        for subscription in subscriptions { subscription.cancel() }
    }
}
