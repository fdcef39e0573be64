import Dispatch
import DomainEvents
import TestSupport
import Testing

@Suite("cancelAndWait returns after the calls that run, wherever they run", .timeLimit(.minutes(5)))
struct CancelAndWaitPlaceTests {
    private let publisher = EventPublisher()

    @Test(arguments: ["inline", "nested", "queue"])
    func forACallThatBlocksItsThread(place: String) async {
        let began = Collected<Int>()
        let mayReturn = Flag()
        let log = Collected<String>()
        let handler: @Sendable (Ping) -> Void = { _ in
            began.add(0)
            while !mayReturn.isSet { yieldNow() }
            log.add("returned")
        }
        let subscription =
            place == "queue"
            ? publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers")), handler)
            : publisher.subscribe(to: Ping.self, handler)
        let outer = publisher.subscribe(to: Pong.self) { [publisher] _ in publisher.publish(Ping()) }
        let thread = Task { [publisher] in
            await onThreads(1) { _ in
                if place == "nested" { publisher.publish(Pong()) } else { publisher.publish(Ping()) }
            }
        }
        await began.wait(for: 1)
        let waiters = (0..<4).map { _ in
            Task {
                await subscription.cancelAndWait()
                log.add("waited")
            }
        }
        for _ in 0..<50 { await Task.yield() }
        #expect(log.all.isEmpty)
        mayReturn.set()
        for waiter in waiters { await waiter.value }
        #expect(log.all == ["returned"] + Array(repeating: "waited", count: 4))
        await thread.value
        outer.cancel()
    }

    @Test func forEachOfTheThreadsThatAreInTheHandler() async {
        let inside = Counter()
        let mayReturn = Flag()
        let returned = Counter()
        let subscription = publisher.subscribe(to: Ping.self) { _ in
            inside.add()
            while !mayReturn.isSet { yieldNow() }
            returned.add()
        }
        let threads = Task { [publisher] in await onThreads(3) { _ in publisher.publish(Ping()) } }
        while inside.count < 3 { await Task.yield() }
        subscription.cancel()
        let waiting = Task {
            await subscription.cancelAndWait()
            return returned.count
        }
        mayReturn.set()
        #expect(await waiting.value == 3)
        await threads.value
    }

    @Test func atOnceIfAnotherHandlerOfTheSameEventRuns() async {
        let inside = Counter()
        let mayReturn = Flag()
        let blocking = publisher.subscribe(to: Ping.self) { _ in
            inside.add()
            while !mayReturn.isSet { yieldNow() }
        }
        let calls = Counter()
        let other = publisher.subscribe(to: Ping.self) { _ in calls.add() }
        let thread = Task { [publisher] in await onThreads(1) { _ in publisher.publish(Ping()) } }
        while inside.count < 1 { await Task.yield() }
        await other.cancelAndWait()
        mayReturn.set()
        await thread.value
        #expect(calls.count == 0)
        blocking.cancel()
    }

    @Test func whateverTheMomentAtWhichCallsEndAndWaitersCome() async {
        for round in 0..<rounds(2_000) {
            let running = Counter()
            let subscription = publisher.subscribe(to: Ping.self) { (_: Ping) async in
                running.add()
                if round.isMultiple(of: 3) { await Task.yield() }
                running.add(-1)
            }
            publisher.publish(Ping(round))
            for _ in 0..<(round % 20) { yieldNow() }
            async let first: Void = subscription.cancelAndWait()
            async let second: Void = subscription.cancelAndWait()
            _ = await (first, second)
            #expect(running.count == 0)
        }
    }

    @Test func severalAreKeptInASetAndCancelledTogether() {
        let log = Collected<Int>()
        var subscriptions: Set<Subscription> = []
        for number in 0..<5 {
            publisher.subscribe(to: Ping.self) { _ in log.add(number) }.store(in: &subscriptions)
        }
        publisher.publish(Ping())
        #expect(log.all == Array(0..<5))
        subscriptions.cancelAll()
        #expect(subscriptions.isEmpty)
        publisher.publish(Ping())
        #expect(log.count == 5)
        #expect(!publisher.isWanted("Ping"))
    }
}

@Suite("What a handler has captured is let go of by the last thread that uses it", .timeLimit(.minutes(5)))
struct ReleaseRaceTests {
    private let publisher = EventPublisher()

    private func subscribe(_ live: Counter, _ handler: @Sendable @escaping (Ping) -> Void = { _ in }) -> Subscription {
        let tracked = Tracked(live)
        return publisher.subscribe(to: Ping.self) { event in withExtendedLifetime(tracked) { handler(event) } }
    }

    @Test func whenACallRunsOnAnotherThreadAsSoonAsItHasReturned() async {
        let live = Counter()
        let inside = Flag()
        let mayReturn = Flag()
        let subscription = subscribe(live) { _ in
            inside.set()
            while !mayReturn.isSet { yieldNow() }
            #expect(live.count == 1)
        }
        let thread = Task { [publisher] in await onThreads(1) { _ in publisher.publish(Ping()) } }
        while !inside.isSet { await Task.yield() }
        subscription.cancel()
        #expect(live.count == 1)
        mayReturn.set()
        await thread.value
        #expect(live.count == 0)
    }

    @Test func whenAnotherThreadIsInTheSameListAsSoonAsItLeaves() async {
        let live = Counter()
        let inside = Flag()
        let mayReturn = Flag()
        let blocking = publisher.subscribe(to: Ping.self) { _ in
            inside.set()
            while !mayReturn.isSet { yieldNow() }
        }
        let subscription = subscribe(live)
        let thread = Task { [publisher] in await onThreads(1) { _ in publisher.publish(Ping()) } }
        while !inside.isSet { await Task.yield() }
        subscription.cancel()
        mayReturn.set()
        await thread.value
        #expect(live.count == 0)
        blocking.cancel()
    }

    @Test func whenItCancelsItselfInsideAndInNestedEvents() {
        let live = Counter()
        let held = Holder<Subscription>()
        held.swap(subscribe(live) { _ in held.swap(nil) })
        let outer = publisher.subscribe(to: Pong.self) { [publisher] _ in publisher.publish(Ping()) }
        publisher.publish(Pong())
        #expect(live.count == 0)
        held.swap(subscribe(live) { _ in held.swap(nil) })
        publisher.publish(Ping())
        #expect(live.count == 0)
        outer.cancel()
    }

    @Test(arguments: ["queue", "task"])
    func whenItCancelsItselfElsewhere(place: String) async {
        let live = Counter()
        let held = Holder<Subscription>()
        let ended = Collected<Int>()
        do {
            let tracked = Tracked(live) { ended.add(0) }
            held.swap(
                place == "queue"
                    ? publisher.subscribe(to: Ping.self, on: .queue(DispatchQueue(label: "handlers"))) { _ in
                        withExtendedLifetime(tracked) { held.current?.cancel() }
                    }
                    : publisher.subscribe(to: Ping.self) { (_: Ping) async in
                        await Task.yield()
                        withExtendedLifetime(tracked) { held.current?.cancel() }
                    }
            )
        }
        publisher.publish(Ping(1))
        publisher.publish(Ping(2))
        await ended.wait(for: 1)
        #expect(held.current != nil)
    }

    @Test func neverEarlyAndAlwaysAtLastWhileManyThreadsAreInTheLists() async {
        // Publishing with a queue among the subscribers takes references to the lists of subscribers, which are
        // replaced all the time.
        let seed = SeededGenerator.announced().seed
        let live = Counter()
        let stop = Flag()
        let queue = DispatchQueue(label: "handlers")
        let changes = rounds(10_000)
        let keeper = publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in }
        await onThreads(4) { [publisher] thread in
            var random = SeededGenerator(seed: seed &+ UInt64(thread))
            if thread == 0 {
                for _ in 0..<changes {
                    let tracked = Tracked(live)
                    let subscription =
                        random.below(2) == 0
                        ? publisher.subscribe(to: Ping.self) { _ in withExtendedLifetime(tracked) {} }
                        : publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in
                            withExtendedLifetime(tracked) {}
                        }
                    subscription.cancel()
                }
                stop.set()
            } else {
                var number = 0
                while !stop.isSet {
                    publisher.publish(Ping(number))
                    number += 1
                    if number.isMultiple(of: 64) { queue.sync {} }
                }
            }
        }
        await keeper.cancelAndWait()
        queue.sync {}
        while live.count > 0 { await Task.yield() }
    }
}
