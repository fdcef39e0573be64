import Dispatch
import DomainEvents
import Synchronization
import Testing

/// Two threads that wander over the moment of a cancellation, many times.
///
/// The one publishes to a handler that looks, as the first thing that it does, whether `cancel()` has returned; the other
/// cancels and writes down when it has. The rounds are numbers, so that nothing has to be set back between them.
private final class CancelRace: Sendable {
    let cancelled = Atomic<Int>(0)
    let violations = Counter()
    let calls = Counter()
    private let prepared = Atomic<Int>(0)
    private let finished = Atomic<Int>(0)
    private let held = Holder<Subscription>()
    /// The last round of which somebody, ahead of the handler and on its thread, has seen that it was cancelled.
    private let seen = Atomic<Int>(0)
    /// Calls that began though it had been seen.
    let certain = Counter()

    private func isCancelled(_ round: Int) -> Bool { cancelled.load(ordering: .sequentiallyConsistent) >= round }

    /// Looks, ahead of the handler and on its thread, whether the round's subscription was cancelled.
    func look(_ round: Int) {
        if isCancelled(round) { seen.store(round, ordering: .relaxed) }
    }

    /// The handler's first line.
    func begin(_ round: Int) {
        if isCancelled(round) { violations.add() }
        if seen.load(ordering: .relaxed) >= round { certain.add() }
        calls.add()
    }

    /// - Returns: How many rounds there were before the time was over.
    func run(
        _ rounds: Int,
        seed: UInt64,
        subscribe: @Sendable @escaping (_ round: Int) -> Subscription,
        publish: @Sendable @escaping (_ round: Int) -> Void
    ) async {
        await onThreads(2) { [self] index in
            var random = SeededRandom(seed: seed &+ UInt64(index))
            for round in 1...rounds {
                if index == 0 {
                    held.swap(subscribe(round))
                    prepared.store(round, ordering: .sequentiallyConsistent)
                    // The cancellation falls into one of these, wherever it meets it.
                    var published = 0
                    repeat {
                        look(round)
                        publish(round)
                        published += 1
                        // Two processors may be one for a while.
                        if published.isMultiple(of: 64) { yieldNow() }
                    } while finished.load(ordering: .acquiring) < round
                } else {
                    wait(until: prepared, is: round)
                    pause(&random)
                    held.current?.cancel()
                    cancelled.store(round, ordering: .sequentiallyConsistent)
                    finished.store(round, ordering: .sequentiallyConsistent)
                }
            }
        }
        held.swap(nil)
    }

    /// Short waits are as frequent as long ones, whatever the speed of the two threads.
    private func pause(_ random: inout SeededRandom) {
        for _ in 0..<random.below(1 << random.below(11)) { _ = prepared.load(ordering: .relaxed) }
    }

    private func wait(until value: borrowing Atomic<Int>, is round: Int) {
        var spins = 0
        while value.load(ordering: .acquiring) < round {
            spins += 1
            // Two processors may be one for a while.
            if spins > 2_000 { yieldNow() }
        }
    }
}

@Suite("No call begins once cancel has returned, whatever the other thread does", .serialized, .timeLimit(.minutes(5)))
struct CancellationRaceTests {
    private let publisher = EventPublisher()

    private func seed() -> UInt64 {
        let seed = SeededRandom.seedFromEnvironment()
        print("DOMAIN_EVENTS_SEED=\(seed)")
        return seed
    }

    /// What was seen ahead of the handler must hold without exception.
    ///
    /// What the handler sees itself can be younger: a call has
    /// begun when its mark says so, and its thread may be put aside between that and the handler's first line, or its first look
    /// at the other thread's memory take a while. That was seen 35 times in 5,100,000 forced rounds of a release build on a busy
    /// machine, and more often in debug builds.
    private func expectNone(_ race: CancelRace, of rounds: Int, seed: UInt64) {
        print("\(race.violations.count) late of \(race.calls.count) calls in \(rounds) rounds")
        #expect(race.certain.count == 0, "seed \(seed)")
        if !isDebugBuild { #expect(race.violations.count <= 10 + rounds / 10_000, "seed \(seed)") }
        #expect(race.calls.count > 0)
    }

    private var isDebugBuild: Bool {
        var isDebug = false
        assert(
            {
                isDebug = true
                return true
            }()
        )
        return isDebug
    }

    @Test func onThePublishingThread() async {
        let (race, seed, rounds) = (CancelRace(), seed(), rounds(10_000))
        await race.run(rounds, seed: seed) { [publisher] round in
            publisher.subscribe(to: Ping.self) { race.begin($0.number) }
        } publish: { [publisher] round in
            publisher.publish(Ping(round))
        }
        expectNone(race, of: rounds, seed: seed)
    }

    @Test func behindAnotherHandlerOfTheSameEvent() async {
        let (race, seed, rounds) = (CancelRace(), seed(), rounds(10_000))
        let first = publisher.subscribe(to: Ping.self) { race.look($0.number) }
        await race.run(rounds, seed: seed) { [publisher] round in
            publisher.subscribe(to: Ping.self) { race.begin($0.number) }
        } publish: { [publisher] round in
            publisher.publish(Ping(round))
        }
        expectNone(race, of: rounds, seed: seed)
        first.cancel()
    }

    @Test func forAnEventThatAHandlerPublishes() async {
        let (race, seed, rounds) = (CancelRace(), seed(), rounds(10_000))
        let first = publisher.subscribe(to: Pong.self) { [publisher] in
            publisher.publish(Ping($0.number))
            race.look($0.number)
        }
        await race.run(rounds, seed: seed) { [publisher] round in
            publisher.subscribe(to: Ping.self) { race.begin($0.number) }
        } publish: { [publisher] round in
            publisher.publish(Pong(round))
        }
        expectNone(race, of: rounds, seed: seed)
        first.cancel()
    }

    @Test(arguments: [false, true])
    func onAQueue(isConcurrent: Bool) async {
        let (race, seed, rounds) = (CancelRace(), seed(), rounds(5_000))
        let queue = DispatchQueue(label: "handlers", attributes: isConcurrent ? .concurrent : [])
        let first = publisher.subscribe(to: Ping.self, on: .queue(queue)) { race.look($0.number) }
        await race.run(rounds, seed: seed) { [publisher] round in
            publisher.subscribe(to: Ping.self, on: .queue(queue)) { race.begin($0.number) }
        } publish: { [publisher] round in
            publisher.publish(Ping(round))
            // Time for the queue to be in the middle of it.
            if round.isMultiple(of: 2) { queue.sync {} }
        }
        expectNone(race, of: rounds, seed: seed)
        first.cancel()
    }

    @Test func inATask() async {
        let (race, seed, rounds) = (CancelRace(), seed(), rounds(5_000))
        await race.run(rounds, seed: seed) { [publisher] round in
            publisher.subscribe(to: Ping.self) { (event: Ping) async in race.begin(event.number) }
        } publish: { [publisher] round in
            publisher.publish(Ping(round))
            for _ in 0..<(round % 40) { yieldNow() }
        }
        expectNone(race, of: rounds, seed: seed)
    }

    @Test func forTheSecondWhoCancelsToo() async {
        // Two threads cancel one subscription at once: the promise holds for whichever returns first.
        let rounds = rounds(10_000)
        let violations = Counter()
        let calls = Counter()
        let cancelled = Atomic<Int>(0)
        let prepared = Atomic<Int>(0)
        let done = Counter()
        let held = Holder<Subscription>()
        await onThreads(3) { [publisher] index in
            for round in 1...rounds {
                if index == 0 {
                    held.swap(
                        publisher.subscribe(to: Ping.self) { event in
                            if cancelled.load(ordering: .sequentiallyConsistent) >= event.number { violations.add() }
                            calls.add()
                        }
                    )
                    prepared.store(round, ordering: .sequentiallyConsistent)
                    publisher.publish(Ping(round))
                    done.waitSpinning(for: round * 2)
                } else {
                    while prepared.load(ordering: .acquiring) < round { yieldNow() }
                    held.current?.cancel()
                    cancelled.store(round, ordering: .sequentiallyConsistent)
                    done.add()
                }
            }
        }
        print("\(violations.count) late of \(calls.count) calls in \(rounds) rounds")
        if !isDebugBuild { #expect(violations.count <= 10 + rounds / 10_000) }
    }

    @Test func onTheSerialQueueThatCancels() async {
        // There it is certain: nothing of the handler can be under way.
        let queue = DispatchQueue(label: "handlers")
        let violations = Counter()
        let calls = Counter()
        for round in 0..<rounds(5_000) {
            let isCancelled = Flag()
            let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in
                if isCancelled.isSet { violations.add() }
                calls.add()
            }
            publisher.publish(Ping(round))
            publisher.publish(Ping(round))
            queue.sync {
                subscription.cancel()
                isCancelled.set()
            }
        }
        queue.sync {}
        #expect(violations.count == 0)
    }

    @Test func onTheActorThatCancels() async {
        actor Owner: EventConsumingActor {
            var isClosed = false
            var calls = 0
            var late = 0
            private var subscription: Subscription?

            func consume(_ event: Pong) async { see() }

            private func see() {
                calls += 1
                if isClosed { late += 1 }
            }

            func open(_ publisher: EventPublisher) {
                isClosed = false
                subscription = publisher.subscribe(to: Ping.self, on: .caller) { _ in self.see() }
                publisher.subscribe(self)
            }

            func close(_ publisher: EventPublisher) {
                subscription?.cancel()
                publisher.unsubscribe(self)
                isClosed = true
            }
        }
        let owner = Owner()
        for round in 0..<rounds(2_000) {
            await owner.open(publisher)
            publisher.publish(Ping(round))
            publisher.publish(Pong(round))
            for _ in 0..<(round % 30) { yieldNow() }
            await owner.close(publisher)
            if round.isMultiple(of: 7) { await Task.yield() }
        }
        #expect(await owner.late == 0)
        #expect(await owner.calls > 0)
    }
}

@Suite("cancelAndWait returns after the calls that run, wherever they run", .timeLimit(.minutes(5)))
struct CancelAndWaitPlaceTests {
    private let publisher = EventPublisher()

    @Test(arguments: ["inline", "nested", "queue"])
    func forACallThatBlocksItsThread(place: String) async {
        let began = Log<Int>()
        let mayReturn = Flag()
        let log = Log<String>()
        let handler: @Sendable (Ping) -> Void = { _ in
            began.write(0)
            while !mayReturn.isSet { yieldNow() }
            log.write("returned")
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
                log.write("waited")
            }
        }
        for _ in 0..<50 { await Task.yield() }
        #expect(log.entries.isEmpty)
        mayReturn.set()
        for waiter in waiters { await waiter.value }
        #expect(log.entries == ["returned"] + Array(repeating: "waited", count: 4))
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
        let log = Log<Int>()
        var subscriptions: Set<Subscription> = []
        for number in 0..<5 {
            publisher.subscribe(to: Ping.self) { _ in log.write(number) }.store(in: &subscriptions)
        }
        publisher.publish(Ping())
        #expect(log.entries == Array(0..<5))
        subscriptions.cancelAll()
        #expect(subscriptions.isEmpty)
        publisher.publish(Ping())
        #expect(log.count == 5)
        #expect(!publisher.isWanted("Ping"))
    }
}

@Suite("What a handler has captured is let go of by whoever is last", .timeLimit(.minutes(5)))
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

    @Test func whenAnotherThreadIsInTheSameRoutesAsSoonAsItLeaves() async {
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
        let ended = Log<Int>()
        do {
            let tracked = Tracked(live) { ended.write(0) }
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

    @Test func neverEarlyAndAlwaysAtLastWhileManyThreadsAreInTheRoutes() async {
        // Publishing with a queue among the subscribers takes references to the routes, which come and go all the time.
        let seed = SeededRandom.seedFromEnvironment()
        print("DOMAIN_EVENTS_SEED=\(seed)")
        let live = Counter()
        let stop = Flag()
        let queue = DispatchQueue(label: "handlers")
        let changes = rounds(10_000)
        let keeper = publisher.subscribe(to: Ping.self, on: .queue(queue)) { _ in }
        await onThreads(4) { [publisher] thread in
            var random = SeededRandom(seed: seed &+ UInt64(thread))
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
