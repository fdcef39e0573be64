import Dispatch
import DomainEvents
import Synchronization
import TestSupport
import Testing

/// Two threads meet around the moment of a cancellation, many times and at many distances.
///
/// One thread publishes to a handler that first looks whether `cancel()` has returned; the other cancels and notes when
/// the call has returned. The rounds are numbers, so nothing has to be reset between them.
private final class CancelRace: Sendable {
    let cancelled = Atomic<Int>(0)
    let violations = Counter()
    let calls = Counter()
    private let prepared = Atomic<Int>(0)
    private let finished = Atomic<Int>(0)
    private let held = Holder<Subscription>()
    /// The last round whose cancellation was seen on the handler's thread before the handler was called.
    private let seen = Atomic<Int>(0)
    /// The last round whose cancellation a call has seen.
    private let lastLate = Atomic<Int>(0)
    /// Calls that began although the cancellation had been seen: before the call on its thread, or by the last call.
    let certain = Counter()

    /// Once in this many rounds there is a call before the cancellation.
    static let certainRound = 8

    private func isCancelled(_ round: Int) -> Bool { cancelled.load(ordering: .sequentiallyConsistent) >= round }

    /// Looks, ahead of the handler and on its thread, whether the round's subscription was cancelled.
    func look(_ round: Int) {
        if isCancelled(round) { seen.store(round, ordering: .relaxed) }
    }

    /// The handler's first line.
    func begin(_ round: Int) {
        if isCancelled(round) {
            violations.add()
            if lastLate.exchange(round, ordering: .relaxed) == round { certain.add() }
        }
        if seen.load(ordering: .relaxed) >= round { certain.add() }
        calls.add()
    }

    /// - Parameter looks: whether the thread that publishes is the handler's own, so that what it sees ahead of the
    ///   handler counts.
    func run(
        _ rounds: Int,
        seed: UInt64,
        looks: Bool = true,
        subscribe: @Sendable @escaping (_ round: Int) -> Subscription,
        publish: @Sendable @escaping (_ round: Int) -> Void
    ) async {
        await onThreads(2) { [self] index in
            var random = SeededGenerator(seed: seed &+ UInt64(index))
            for round in 1...rounds {
                if index == 0 {
                    held.swap(subscribe(round))
                    prepared.store(round, ordering: .sequentiallyConsistent)
                    // The cancellation meets one of these calls, at any point of it.
                    var published = 0
                    repeat {
                        if looks { look(round) }
                        publish(round)
                        published += 1
                        // For a while both threads may have to share a processor.
                        if published.isMultiple(of: 64) { yieldNow() }
                    } while finished.load(ordering: .acquiring) < round
                } else {
                    let before = calls.count
                    wait(until: prepared, is: round)
                    // In some rounds only after a call: otherwise this thread may be quicker in every round.
                    if round.isMultiple(of: Self.certainRound) { calls.waitSpinning(for: before + 1) }
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
    private func pause(_ random: inout SeededGenerator) {
        for _ in 0..<random.below(1 << random.below(11)) { _ = prepared.load(ordering: .relaxed) }
    }

    private func wait(until value: borrowing Atomic<Int>, is round: Int) {
        var spins = 0
        while value.load(ordering: .acquiring) < round {
            spins += 1
            // For a while both threads may have to share a processor.
            if spins > 2_000 { yieldNow() }
        }
    }
}

@Suite("No call begins once cancel has returned, whatever the other thread does", .serialized, .timeLimit(.minutes(5)))
struct CancellationRaceTests {
    private let publisher = EventPublisher()

    private func seed() -> UInt64 {
        let seed = SeededGenerator.announced().seed
        return seed
    }

    /// A cancellation that was seen before a call, on its thread or by the last call, must hold without exception:
    /// handlers run one at a time.
    ///
    /// A cancellation that a call sees itself may be newer than the call, and proves nothing. A call has begun with its
    /// mark, and a busy machine may suspend its thread between the mark and the handler's first line for any time; so
    /// the count is only printed. ``CallGateTests`` shows that `cancel()` waits for calls with that mark.
    private func expectNone(_ race: CancelRace, of rounds: Int, seed: UInt64) {
        print("\(race.violations.count) late of \(race.calls.count) calls in \(rounds) rounds")
        #expect(race.certain.count == 0, "seed \(seed)")
        #expect(race.calls.count >= rounds / CancelRace.certainRound)
    }

    @Test func onThePublishingThread() async {
        let (race, seed, rounds) = (CancelRace(), seed(), TestSupport.rounds(10_000))
        await race.run(rounds, seed: seed) { [publisher] round in
            publisher.subscribe(to: Ping.self) { race.begin($0.number) }
        } publish: { [publisher] round in
            publisher.publish(Ping(round))
        }
        expectNone(race, of: rounds, seed: seed)
    }

    @Test func behindAnotherHandlerOfTheSameEvent() async {
        let (race, seed, rounds) = (CancelRace(), seed(), TestSupport.rounds(10_000))
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
        let (race, seed, rounds) = (CancelRace(), seed(), TestSupport.rounds(10_000))
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
        let (race, seed, rounds) = (CancelRace(), seed(), TestSupport.rounds(5_000))
        let queue = DispatchQueue(label: "handlers", attributes: isConcurrent ? .concurrent : [])
        let first = publisher.subscribe(to: Ping.self, on: .queue(queue)) { race.look($0.number) }
        await race.run(rounds, seed: seed, looks: false) { [publisher] round in
            publisher.subscribe(to: Ping.self, on: .queue(queue)) { race.begin($0.number) }
        } publish: { [publisher] round in
            publisher.publish(Ping(round))
            // Gives the queue time to be in the middle of a call.
            if round.isMultiple(of: 2) { queue.sync {} }
        }
        expectNone(race, of: rounds, seed: seed)
        first.cancel()
    }

    @Test func inATask() async {
        let (race, seed, rounds) = (CancelRace(), seed(), TestSupport.rounds(5_000))
        // Nothing can look on the handler's thread before the handler: only what the call before has seen counts.
        await race.run(rounds, seed: seed, looks: false) { [publisher] round in
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
        let late = Counter()
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
                            if event.number < 0 { late.add() }
                            calls.add()
                        }
                    )
                    publisher.publish(Ping(round))
                    prepared.store(round, ordering: .sequentiallyConsistent)
                    repeat {
                        publisher.publish(Ping(round))
                        yieldNow()
                    } while cancelled.load(ordering: .sequentiallyConsistent) < round
                    // The first of the two cancelling threads has returned.
                    publisher.publish(Ping(-round))
                    done.waitSpinning(for: round * 2)
                } else {
                    while prepared.load(ordering: .acquiring) < round { yieldNow() }
                    held.current?.cancel()
                    cancelled.store(round, ordering: .sequentiallyConsistent)
                    done.add()
                }
            }
        }
        #expect(late.count == 0)
        #expect(calls.count >= rounds)
    }

    @Test func onTheSerialQueueThatCancels() async {
        // On this queue no call of the handler can be under way, so the check is exact.
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
        // Whatever happened in the rounds, a subscription that is not cancelled is called.
        await owner.open(publisher)
        publisher.publish(Ping(0))
        while await owner.calls == 0 { await Task.yield() }
        await owner.close(publisher)
    }
}
