import Dispatch
import DomainEvents
import Synchronization
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

/// Sees to it that each thread's ticks come once and in order, and, for one that is always subscribed, without a gap.
///
/// Handlers of one subscription may run on several threads at once, but those of one thread's ticks never do: each place of
/// `last` has one writer at a time.
private final class OrderCheck: Sendable {
    let violations = Counter()
    let received = Counter()
    private let isGapless: Bool
    private let last: [Counter]

    init(threads: Int, isGapless: Bool) {
        self.isGapless = isGapless
        last = (0..<threads).map { _ in Counter() }
    }

    func see(_ tick: Tick) {
        received.add()
        let before = last[tick.thread].count
        if isGapless ? tick.number != before + 1 : tick.number <= before { violations.add() }
        last[tick.thread].add(tick.number - before)
    }
}

@Suite("Nothing is lost, repeated, reordered or leaked under load", .serialized, .timeLimit(.minutes(2)))
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
        let seed = SeededRandom.seedFromEnvironment()
        print("DOMAIN_EVENTS_SEED=\(seed)")
        let end = monotonicNow() + Self.seconds * 1_000_000_000
        let live = Counter()
        let published = (0..<Self.threads).map { _ in Counter() }
        let permanent = (0..<6).map { _ in OrderCheck(threads: Self.threads, isGapless: true) }
        let passing = Log<OrderCheck>()
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
            // Subscriptions change hands here: one thread makes them, another cancels or releases them.
            let shared = (0..<16).map { _ in Holder<Subscription>() }
            await onThreads(Self.threads) { thread in
                var random = SeededRandom(seed: seed &+ UInt64(thread))
                var number = 0
                while monotonicNow() < end {
                    switch random.below(100) {
                    case 0..<70:
                        // The backlog of the asynchronous handlers is bounded by waiting for them, outside any handler.
                        if number - permanent[5].received.count / Self.threads > 500 {
                            sched_yield()
                            continue
                        }
                        number += 1
                        publisher.publish(Tick(thread: thread, number: number))
                        published[thread].add()
                    case 70..<85:
                        let check = OrderCheck(threads: Self.threads, isGapless: false)
                        passing.write(check)
                        let made = Self.subscribe(random.below(6), publisher, queues, live, check)
                        shared[random.below(shared.count)].swap(made)
                    case 85..<95:
                        shared[random.below(shared.count)].swap(nil)
                    default:
                        shared[random.below(shared.count)].current?.cancel()
                    }
                }
            }
            let total = published.reduce(0) { $0 + $1.count }
            for check in permanent {
                while check.received.count < total { await Task.yield() }
                #expect(check.violations.count == 0, "seed \(seed)")
                #expect(check.received.count == total, "seed \(seed)")
            }
            for holder in shared { if let last = holder.swap(nil) { await last.cancelAndWait() } }
            for subscription in kept { await subscription.cancelAndWait() }
            consumed.cancel()
            #expect(try await consumed.value == 0, "seed \(seed)")
            #expect(total > 0)
        }
        for check in passing.entries { #expect(check.violations.count == 0, "seed \(seed)") }
        // What was cancelled while it waited on a queue or in a task is let go when its turn comes.
        for queue in queues { queue.sync(flags: .barrier) {} }
        while live.count > 0 || released != nil { await Task.yield() }
    }
}
