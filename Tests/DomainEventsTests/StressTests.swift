import BridgePlatform
import Dispatch
import DomainEvents
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

private struct Tick: DomainEvent {
    let thread: Int
    let number: Int
}

/// An event that a handler of ticks publishes now and then.
private struct Tock: DomainEvent {
    let thread: Int
    let number: Int
}

/// Checks that each thread's ticks come once and in order, and, for a permanent subscription, without a gap.
///
/// Handlers of one subscription may run on several threads at once, but not for the ticks of one thread: each place of
/// `last` has one writer at a time.
private final class OrderCheck: Sendable {
    let violations = Counter()
    let received = Counter()
    private let isGapless: Bool
    private let last: [Counter]
    /// The last tick of each thread that may still have been published before the subscription was cancelled.
    private let allowed: [Atomic<Int>.Box]

    init(threads: Int, isGapless: Bool) {
        self.isGapless = isGapless
        last = (0..<threads).map { _ in Counter() }
        allowed = (0..<threads).map { _ in Atomic<Int>.Box(.max) }
    }

    /// Notes that `cancel()` has returned: events that are published from now on must not arrive.
    func ended(published: [Counter]) {
        for (thread, counter) in published.enumerated() {
            // The next tick may have been under way already.
            allowed[thread].value.store(counter.count + 1, ordering: .sequentiallyConsistent)
        }
    }

    func see(_ tick: Tick) {
        see(thread: tick.thread, number: tick.number)
    }

    func see(thread: Int, number: Int) {
        received.add()
        let before = last[thread].count
        if isGapless ? number != before + 1 : number <= before { violations.add() }
        if number > allowed[thread].value.load(ordering: .sequentiallyConsistent) { violations.add() }
        last[thread].add(number - before)
    }
}

extension Atomic<Int> {
    fileprivate final class Box: Sendable {
        let value: Atomic<Int>
        init(_ initial: Int) { value = Atomic(initial) }
    }
}

/// A subscription that goes from thread to thread, and its handler's checks.
private struct Passing: Sendable {
    let subscription: Subscription
    let check: OrderCheck
}

@Suite("Nothing is lost, repeated, reordered or leaked under load", .serialized, .timeLimit(.minutes(5)))
struct StressTests {
    private static let threads = 8

    private static var seconds: UInt64 {
        getenv("DOMAIN_EVENTS_STRESS_SECONDS").flatMap { UInt64(String(cString: $0)) } ?? 2
    }

    private static func subscribe(
        _ kind: Int,
        _ publisher: EventPublisher,
        _ queues: [DispatchQueue],
        _ live: Counter,
        _ check: OrderCheck
    ) -> Subscription {
        let tracked = Tracked(live)
        switch kind {
        case 0, 1, 2:
            return publisher.subscribe(to: Tick.self) { tick in withExtendedLifetime(tracked) { check.see(tick) } }
        case 3, 4:
            return publisher.subscribe(to: Tick.self, on: .queue(queues[kind - 3])) { tick in
                withExtendedLifetime(tracked) { check.see(tick) }
            }
        default:
            return publisher.subscribe(to: Tick.self) { tick in
                await Task.yield()
                withExtendedLifetime(tracked) { check.see(tick) }
            }
        }
    }

    @Test func withThreadsThatPublishSubscribeCancelAndReleaseAtOnce() async throws {
        let seed = SeededGenerator.announced().seed
        let live = Counter()
        let published = (0..<Self.threads).map { _ in Counter() }
        let permanent = (0..<6).map { _ in OrderCheck(threads: Self.threads, isGapless: true) }
        let passing = Collected<OrderCheck>()
        let queues = [DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent)]
        weak var released: EventPublisher?
        do {
            let publisher = EventPublisher()
            released = publisher
            let kept = permanent.enumerated().map { Self.subscribe($0, publisher, queues, live, $1) }
            let consumed = Task { [sequence = publisher.events(of: Tick.self)] in
                let check = OrderCheck(threads: Self.threads, isGapless: true)
                do {
                    for try await tick in sequence { check.see(tick) }
                } catch is EventsMissed {
                    return check.violations.count
                }
                return check.violations.count
            }
            // These subscriptions go from thread to thread: one thread makes them, another cancels or releases them.
            let shared = (0..<16).map { _ in Holder<Passing>() }
            let tocks = OrderCheck(threads: Self.threads, isGapless: true)
            let more = [
                // A handler's events keep their order, too; and handlers cancel and release subscriptions of others.
                publisher.subscribe(to: Tick.self) { [weak publisher] tick in
                    if tick.number.isMultiple(of: 16) {
                        publisher?.publish(Tock(thread: tick.thread, number: tick.number / 16))
                    }
                    if tick.number % 97 == 0 { shared[tick.number % 16].current?.subscription.cancel() }
                    if tick.number % 89 == 0 { shared[tick.number % 16].swap(nil) }
                },
                publisher.subscribe(to: Tock.self, on: .queue(queues[0])) {
                    tocks.see(thread: $0.thread, number: $0.number)
                },
            ]
            let end = MonotonicClock.now() + Self.seconds * 1_000_000_000
            await onThreads(Self.threads) { thread in
                var random = SeededGenerator(seed: seed &+ UInt64(thread))
                var number = 0
                // A thread that gets no processor until the end publishes an event all the same.
                while number == 0 || MonotonicClock.now() < end {
                    switch random.below(100) {
                    case 0..<70:
                        // Waiting for the asynchronous handlers, outside any handler, limits their backlog.
                        if number - permanent[5].received.count / Self.threads > 500 {
                            sched_yield()
                            continue
                        }
                        number += 1
                        publisher.publish(Tick(thread: thread, number: number))
                        published[thread].add()
                    case 70..<85:
                        let check = OrderCheck(threads: Self.threads, isGapless: false)
                        passing.add(check)
                        let made = Self.subscribe(random.below(6), publisher, queues, live, check)
                        shared[random.below(shared.count)].swap(Passing(subscription: made, check: check))
                    case 85..<95:
                        shared[random.below(shared.count)].swap(nil)
                    default:
                        guard let passing = shared[random.below(shared.count)].current else { continue }
                        passing.subscription.cancel()
                        passing.check.ended(published: published)
                    }
                }
            }
            let total = published.reduce(0) { $0 + $1.count }
            for check in permanent {
                while check.received.count < total { await Task.yield() }
                #expect(check.violations.count == 0, "seed \(seed)")
                #expect(check.received.count == total, "seed \(seed)")
            }
            let tockTotal = published.reduce(0) { $0 + $1.count / 16 }
            while tocks.received.count < tockTotal { await Task.yield() }
            #expect(tocks.violations.count == 0, "seed \(seed)")
            for holder in shared { if let last = holder.swap(nil) { await last.subscription.cancelAndWait() } }
            for subscription in more { await subscription.cancelAndWait() }
            for subscription in kept { await subscription.cancelAndWait() }
            consumed.cancel()
            #expect(try await consumed.value == 0, "seed \(seed)")
            #expect(total > 0)
        }
        for check in passing.all { #expect(check.violations.count == 0, "seed \(seed)") }
        // An event whose subscription was cancelled while it waited is released when its turn comes.
        for queue in queues { queue.sync(flags: .barrier) {} }
        while live.count > 0 || released != nil { await Task.yield() }
    }
}
