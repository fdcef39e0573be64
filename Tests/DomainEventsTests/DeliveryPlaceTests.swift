import Dispatch
import DomainEvents
import TestSupport
import Testing

/// A handler or a loop on an actor of its own.
private actor Desk {
    private(set) var seen: [Int] = []
    private var running = 0
    let log = Collected<Int>()
    private var subscription: Subscription?

    func open(_ publisher: EventPublisher) {
        subscription = publisher.subscribe(to: Ping.self, on: .caller) { event in
            // Uses the surrounding actor's state without `await`.
            self.seen.append(event.number)
            self.running += 1
            #expect(self.running == 1)
            await Task.yield()
            self.running -= 1
            self.log.add(event.number)
        }
    }

    func openSynchronously(_ publisher: EventPublisher) {
        subscription = publisher.subscribe(to: Ping.self, on: .caller) { event in
            self.seen.append(event.number)
            self.log.add(event.number)
        }
    }

    func close() { subscription = nil }
}

@Suite("A handler runs where its subscription says", .timeLimit(.minutes(5)))
struct DeliveryPlaceTests {
    private let publisher = EventPublisher()
    private let numbers = Array(0..<1_000)

    @Test func onTheActorThatSubscribedInOrderAndOneAtATime() async {
        let desk = Desk()
        await desk.open(publisher)
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await desk.log.wait(for: numbers.count) == numbers)
        #expect(await desk.seen == numbers)
        await desk.close()
        #expect(!publisher.isWanted("Ping"))
    }

    @Test func onTheActorThatSubscribedAlsoASynchronousHandler() async {
        let desk = Desk()
        await desk.openSynchronously(publisher)
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(await desk.log.wait(for: numbers.count) == numbers)
        #expect(await desk.seen == numbers)
        await desk.close()
    }

    @MainActor
    @Test func onTheMainActorThatSubscribed() async {
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self, on: .caller) { event in
            MainActor.preconditionIsolated()
            log.add(event.number)
        }
        for number in numbers { publisher.publish(Ping(number)) }
        #expect(log.all.isEmpty)
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @MainActor
    @Test func onTheMainActorWhateverTheThreadThatPublishes() async {
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self, on: .main) { event in
            MainActor.preconditionIsolated()
            log.add(event.number)
        }
        await onThreads(1) { [publisher, numbers] _ in for number in numbers { publisher.publish(Ping(number)) } }
        #expect(await log.wait(for: numbers.count) == numbers)
        subscription.cancel()
    }

    @Test func onThePublishersQueueIfItSaysNothing() async {
        let queue = DispatchQueue(label: "subsystem")
        let publisher = EventPublisher(deliveringOn: .queue(queue))
        let log = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { event in
                dispatchPrecondition(condition: .onQueue(queue))
                log.add(event.number)
            },
            publisher.subscribe(to: Pong.self) { event in
                dispatchPrecondition(condition: .onQueue(queue))
                log.add(event.number)
            },
        ]
        for number in numbers {
            if number.isMultiple(of: 2) { publisher.publish(Ping(number)) } else { publisher.publish(Pong(number)) }
        }
        #expect(await log.wait(for: numbers.count) == numbers)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onTheMainActorIfThePublisherSaysSo() async {
        let publisher = EventPublisher(deliveringOn: .main)
        let log = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { event in
                MainActor.preconditionIsolated()
                log.add(event.number)
            },
            publisher.subscribe(to: Pong.self, on: .main) { event in log.add(event.number) },
        ]
        for number in numbers {
            if number.isMultiple(of: 2) { publisher.publish(Ping(number)) } else { publisher.publish(Pong(number)) }
        }
        #expect(await log.wait(for: numbers.count) == numbers)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test(arguments: [false, true])
    func onOneQueueInOneStrandAcrossEventTypes(isConcurrent: Bool) async {
        let queue = DispatchQueue(label: "handlers", attributes: isConcurrent ? .concurrent : [])
        let log = Collected<Int>()
        let running = Counter()
        @Sendable func handle(_ number: Int) {
            #expect(running.add() == 1)
            running.add(-1)
            log.add(number)
        }
        let subscriptions = [
            publisher.subscribe(to: Ping.self, on: .queue(queue)) { handle($0.number) },
            publisher.subscribe(to: Pong.self, on: .queue(queue)) { handle($0.number) },
        ]
        for number in numbers {
            if number % 3 == 0 { publisher.publish(Ping(number)) } else { publisher.publish(Pong(number)) }
            if number.isMultiple(of: 100) { await Task.yield() }
        }
        #expect(await log.wait(for: numbers.count) == numbers)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onTheMainQueueInOneStrandHoweverItIsNamed() async {
        // `DispatchQueue.main` is another object each time.
        let log = Collected<Int>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self, on: .queue(.main)) { log.add($0.number) },
            publisher.subscribe(to: Pong.self, on: .queue(.main)) { log.add($0.number) },
            publisher.subscribe(to: Tack.self, on: .main) { log.add($0.number) },
        ]
        let numbers = Array(0..<3_000)
        for number in numbers {
            switch number % 3 {
            case 0: publisher.publish(Ping(number))
            case 1: publisher.publish(Pong(number))
            default: publisher.publish(Tack(number: number))
            }
        }
        #expect(await log.wait(for: numbers.count) == numbers)
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func onAQueueInTheOrderOfEachOfSeveralThreads() async {
        let threads = 4
        let each = 2_000
        let queue = DispatchQueue(label: "handlers", attributes: .concurrent)
        let log = Collected<(Int, Int)>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self, on: .queue(queue)) { log.add(($0.number / each, $0.number % each)) },
            publisher.subscribe(to: Pong.self, on: .queue(queue)) { log.add(($0.number / each, $0.number % each)) },
        ]
        await onThreads(threads) { [publisher] thread in
            for number in 0..<each {
                let value = thread * each + number
                if number % 3 == 0 { publisher.publish(Ping(value)) } else { publisher.publish(Pong(value)) }
            }
        }
        var next = Array(repeating: 0, count: threads)
        for (thread, number) in await log.wait(for: threads * each) {
            #expect(number == next[thread])
            next[thread] = number + 1
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func alsoWhenTheQueueRunsItsBlockOnThePublishingThread() {
        // `sync` from inside a handler: the strand's block runs on a thread that is delivering already.
        let queue = DispatchQueue(label: "handlers")
        let log = Collected<String>()
        let subscriptions = [
            publisher.subscribe(to: Ping.self) { [publisher] _ in
                publisher.publish(Pong(1))
                queue.sync { log.add("in the queue") }
                log.add("inline, cause \(EventContext.current?.cause == nil)")
            },
            publisher.subscribe(to: Pong.self) { _ in log.add("pong, cause \(EventContext.current?.cause == nil)") },
        ]
        publisher.publish(Ping())
        #expect(log.all == ["in the queue", "inline, cause true", "pong, cause false"])
        for subscription in subscriptions { subscription.cancel() }
    }
}

private struct Tack: DomainEvent { let number: Int }
