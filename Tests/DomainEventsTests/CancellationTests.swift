import BridgePlatform
import Dispatch
import DomainEvents
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("A cancelled subscription's handler does not begin", .timeLimit(.minutes(5)))
struct CancellationTests {
    private let publisher = EventPublisher()

    @Test func afterCancelAndAfterRelease() {
        let log = Collected<Int>()
        var subscription: Subscription? = publisher.subscribe(to: Ping.self) { log.add($0.number) }
        publisher.publish(Ping(1))
        subscription?.cancel()
        subscription?.cancel()
        publisher.publish(Ping(2))
        subscription = publisher.subscribe(to: Ping.self) { log.add($0.number) }
        publisher.publish(Ping(3))
        subscription = nil
        publisher.publish(Ping(4))
        #expect(log.all == [1, 3])
        #expect(subscription == nil)
    }

    @Test func whenTheSubscriptionWasIgnored() {
        let log = Collected<Int>()
        _ = publisher.subscribe(to: Ping.self) { log.add($0.number) }
        publisher.publish(Ping(1))
        #expect(log.all.isEmpty)
    }

    @Test func whenItCancelsItself() {
        let log = Collected<Int>()
        let held = Holder<Subscription>()
        held.swap(
            publisher.subscribe(to: Ping.self) { event in
                log.add(event.number)
                held.current?.cancel()
            }
        )
        publisher.publish(Ping(1))
        publisher.publish(Ping(2))
        #expect(log.all == [1])
    }

    @Test func whenAnotherHandlerOfTheSameEventCancelsIt() {
        let log = Collected<Int>()
        let held = Holder<Subscription>()
        let first = publisher.subscribe(to: Ping.self) { _ in held.current?.cancel() }
        held.swap(publisher.subscribe(to: Ping.self) { log.add($0.number) })
        publisher.publish(Ping(1))
        #expect(log.all.isEmpty)
        first.cancel()
    }

    @Test func whenTheEventWaitsOnAQueue() {
        let queue = DispatchQueue(label: "handlers")
        let log = Collected<Int>()
        queue.suspend()
        let subscription = publisher.subscribe(to: Ping.self, on: .queue(queue)) { log.add($0.number) }
        publisher.publish(Ping(1))
        subscription.cancel()
        queue.resume()
        queue.sync {}
        #expect(log.all.isEmpty)
    }

    @Test func onceCancelHasReturnedOnAnotherThread() async {
        // The first handler looks whether cancel() has returned; if so, the second handler must not be called after it.
        let mostRounds = 300_000
        let prepared = Counter()
        let beginning = Counter()
        let cancelled = Counter()
        let violations = Counter()
        let calls = Counter()
        let held = Holder<Subscription>()
        let seen = Holder<Int>()
        let first = publisher.subscribe(to: Ping.self) { event in
            beginning.waitSpinning(for: event.number)
            // Both sides vary their distance from the moment of the cancellation.
            for _ in 0..<(event.number % 61) { _ = cancelled.count }
            if cancelled.count == event.number { seen.swap(event.number) }
        }
        let isOver = Flag()
        await onThreads(2) { [publisher] index in
            let end = MonotonicClock.now() + 2_000_000_000
            for number in 1...mostRounds {
                if index == 0 {
                    // On a machine with other work each round may cost time slices. There is a first round in any case.
                    if number > 1, MonotonicClock.now() > end {
                        isOver.set()
                        prepared.add()
                        return
                    }
                    held.swap(
                        publisher.subscribe(to: Ping.self) { event in
                            if seen.current == event.number { violations.add() }
                            calls.add()
                        }
                    )
                    prepared.add()
                    publisher.publish(Ping(number))
                    cancelled.waitSpinning(for: number)
                } else {
                    prepared.waitSpinning(for: number)
                    if isOver.isSet { return }
                    beginning.add()
                    for _ in 0..<(number % 509) { _ = prepared.count }
                    held.current?.cancel()
                    cancelled.add()
                }
            }
        }
        #expect(violations.count == 0)
        #expect(cancelled.count > 0)
        first.cancel()
    }

    @MainActor
    @Test func onTheActorThatCancelled() async {
        @MainActor final class Window {
            var isClosed = false
            var calls = 0
            var lateCalls = 0
        }
        let window = Window()
        for number in rounds(atMost: 500) {
            window.isClosed = false
            let subscription = publisher.subscribe(to: Ping.self) { @MainActor (_: Ping) async in
                window.calls += 1
                if window.isClosed { window.lateCalls += 1 }
            }
            publisher.publish(Ping(number))
            if number.isMultiple(of: 10) { await Task.yield() }
            // Gives the pool time to take the event while this actor is busy.
            for _ in 0..<(number % 50) { sched_yield() }
            subscription.cancel()
            window.isClosed = true
            await subscription.cancelAndWait()
        }
        #expect(window.lateCalls == 0)
    }

    @MainActor
    @Test func onTheMainQueueThatCancelled() async {
        let log = Collected<Int>()
        for number in 0..<500 {
            let subscription = publisher.subscribe(to: Ping.self, on: .main) { log.add($0.number) }
            publisher.publish(Ping(number))
            subscription.cancel()
        }
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(log.all.isEmpty)
    }
}

@Suite("cancelAndWait returns when no handler runs", .timeLimit(.minutes(5)))
struct CancelAndWaitTests {
    private let publisher = EventPublisher()

    @Test func itWaitsForAnAsynchronousHandler() async {
        let barrier = Barrier()
        let log = Collected<String>()
        let subscription = publisher.subscribe(to: Ping.self) { _ in
            log.add("began")
            await barrier.pass()
            log.add("returned")
        }
        publisher.publish(Ping(1))
        publisher.publish(Ping(2))
        await log.wait(for: 1)
        let waiting = Task {
            await subscription.cancelAndWait()
            log.add("waited")
        }
        let alsoWaiting = Task { await subscription.cancelAndWait() }
        barrier.open()
        await waiting.value
        await alsoWaiting.value
        #expect(log.all == ["began", "returned", "waited"])
    }

    @Test func itReturnsAtOnceWhenNothingRunsAndWhenItIsRepeated() async {
        let subscription = publisher.subscribe(to: Ping.self) { _ in }
        await subscription.cancelAndWait()
        await subscription.cancelAndWait()
    }

    @Test func noCallRunsAfterwardsWhateverTheOtherThreadDoes() async {
        let rounds = 5_000
        let violations = Counter()
        let isOver = Flag()
        let thread = Task { [publisher] in
            await onThreads(1) { _ in
                while !isOver.isSet { publisher.publish(Ping()) }
            }
        }
        for _ in 0..<rounds {
            let hasEnded = Flag()
            let subscription = publisher.subscribe(to: Ping.self) { _ in
                if hasEnded.isSet { violations.add() }
                for _ in 0..<20 { _ = hasEnded.isSet }
                if hasEnded.isSet { violations.add() }
            }
            await subscription.cancelAndWait()
            hasEnded.set()
        }
        isOver.set()
        await thread.value
        #expect(violations.count == 0)
    }
}

@Suite("What a handler has captured is let go", .timeLimit(.minutes(5)))
struct ReleaseTests {
    private let publisher = EventPublisher()

    private func subscribeTracked(_ live: Counter) -> Subscription {
        let tracked = Tracked(live)
        return publisher.subscribe(to: Ping.self) { _ in withExtendedLifetime(tracked) {} }
    }

    @Test func atCancelEvenIfTheSubscriptionIsKept() {
        let live = Counter()
        let subscription = subscribeTracked(live)
        #expect(live.count == 1)
        subscription.cancel()
        #expect(live.count == 0)
        withExtendedLifetime(subscription) {}
    }

    @Test func afterTheCallThatCancelledAndCapturedItsOwnSubscription() {
        final class Window: Sendable {
            let subscription = Holder<Subscription>()
            let tracked: Tracked
            init(_ publisher: EventPublisher, _ live: Counter) {
                tracked = Tracked(live)
                subscription.swap(publisher.subscribe(to: Ping.self) { _ in self.subscription.current?.cancel() })
            }
        }
        let live = Counter()
        do { _ = Window(publisher, live) }
        #expect(live.count == 1)
        publisher.publish(Ping())
        #expect(live.count == 0)
    }

    @Test func onAnotherThread() async {
        let live = Counter()
        let held = Holder<Subscription>()
        held.swap(subscribeTracked(live))
        await onThreads(1) { _ in held.swap(nil) }
        publisher.publish(Ping())
        #expect(live.count == 0)
    }

    @Test func whenItsEndSubscribesAndCancelsAndPublishes() {
        let live = Counter()
        let other = Holder<Subscription>()
        other.swap(publisher.subscribe(to: Ping.self) { _ in })
        func subscribe() -> Subscription {
            let tracked = Tracked(live) { [publisher] in
                other.swap(nil)
                publisher.publish(Ping())
                _ = publisher.subscribe(to: Ping.self) { _ in }
            }
            return publisher.subscribe(to: Ping.self) { _ in withExtendedLifetime(tracked) {} }
        }
        let subscription = subscribe()
        subscription.cancel()
        #expect(live.count == 0)
    }

    @Test func withThePublisher() {
        let live = Counter()
        let held = Holder<Subscription>()
        do {
            let publisher = EventPublisher()
            let tracked = Tracked(live)
            held.swap(publisher.subscribe(to: Ping.self) { _ in withExtendedLifetime(tracked) {} })
            publisher.publish(Ping())
        }
        held.current?.cancel()
        #expect(live.count == 0)
    }

    @Test func withTheLastEventThatHeldIt() async {
        // If the payload were released where its event leaves the strand, its end would need a lock that is held.
        final class Payload: Codable, Sendable {
            let atEnd: (@Sendable () -> Void)?
            init(_ atEnd: @escaping @Sendable () -> Void) { self.atEnd = atEnd }
            init(from decoder: any Decoder) throws { atEnd = nil }
            func encode(to encoder: any Encoder) throws {}
            deinit { atEnd?() }
        }
        struct Loaded: DomainEvent { let payload: Payload? }
        let publisher = publisher
        let ended = Collected<Bool>()
        let log = Collected<Bool>()
        let subscription = publisher.subscribe(to: Loaded.self, on: .queue(DispatchQueue(label: "handlers"))) { event in
            log.add(event.payload != nil)
        }
        publisher.publish(
            Loaded(
                payload: Payload {
                    publisher.publish(Loaded(payload: nil))
                    ended.add(true)
                }
            )
        )
        #expect(await log.wait(for: 2) == [true, false])
        #expect(await ended.wait(for: 1) == [true])
        subscription.cancel()
    }
}
