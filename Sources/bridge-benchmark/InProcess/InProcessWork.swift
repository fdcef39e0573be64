import BridgePlatform
import Dispatch
import DomainEvents
import Locks
import Synchronization

/// W5: in one process, without a bridge.
///
/// A handler compares the event's title, if there is one, with the expected title, as the handlers of the compared
/// programs do. At the end the sum of the numbers is checked.
enum InProcessWork {
    /// Runs off the main actor, on which every wake-up would pass through the main queue.
    ///
    /// - Parameter posts: how many deliveries are measured with handlers on the one publishing thread; with two
    ///   publishing threads, and with handlers elsewhere, a quarter of them.
    @concurrent
    static func run(_ posts: Int64) async {
        memory()
        for observers in [1, 10, 100] { inline(observers, posts) }
        manyTypes(1_000, posts)
        // With fewer than twenty pairs, the worst ratio would say nothing.
        twoThreads(pairs: posts < 1_000_000 ? 2 : 20, posts / 4)
        let elsewhere = max(1_000, posts / 4_000 * 1_000)
        await queue(elsewhere)
        await task(elsewhere)
        await sequence(elsewhere)
        await standardStream(elsewhere)
    }

    // MARK: - What subscribers do

    /// Adds up the numbers of the events that it is given.
    private final class Sum: @unchecked Sendable {
        // Sendable: the handlers that share a sum run one at a time, and each sees the changes of the previous one. The
        // sum is read when all handlers have returned.
        private(set) var value: Int64 = 0
        private(set) var count: Int64 = 0

        func add(_ event: BenchmarkEvent) {
            add(event.id, event.title)
        }

        @inline(__always)
        func add(_ id: Int64, _ title: String) {
            guard title == Title.of(id) else { Report.fail("event \(id) has the title \(title)") }
            value &+= id
            count &+= 1
        }

        func reset() {
            value = 0
            count = 0
        }

        func check(_ work: String, posts: Int64, observers: Int64 = 1) {
            guard value == posts * (posts - 1) / 2 * observers, count == posts * observers else {
                Report.fail("\(work): the sum is \(value) of \(count) events")
            }
        }
    }

    private static func publish(_ posts: Int64, to publisher: EventPublisher) {
        for id in 0..<posts { publisher.publish(BenchmarkEvent(id: id, title: Title.of(id))) }
    }

    // MARK: - Handlers on the publishing thread

    private static func inline(_ observers: Int, _ deliveries: Int64) {
        let posts = max(10, deliveries / Int64(observers))
        let time = timeInline(EventPublisher(), observers, posts)
        Report.deliveries("obs\(observers)", count: posts * Int64(observers), nanoseconds: time)
    }

    private static func timeInline(_ publisher: EventPublisher, _ observers: Int, _ posts: Int64) -> UInt64 {
        let sum = Sum()
        let subscriptions = (0..<observers).map { _ in
            publisher.subscribe(to: BenchmarkEvent.self) { event in sum.add(event) }
        }
        publish(posts / 10, to: publisher)
        sum.reset()
        let begin = MonotonicClock.now()
        publish(posts, to: publisher)
        let time = MonotonicClock.now() - begin
        sum.check("W5-obs\(observers)", posts: posts, observers: Int64(observers))
        withExtendedLifetime(subscriptions) {}
        return time
    }

    /// Measures one subscriber while `count` other event types are in use.
    private static func manyTypes(_ count: Int, _ posts: Int64) {
        let publisher = EventPublisher()
        let tags = EventType.all
        var subscriptions: [Subscription] = []
        for outer in tags {
            for inner in tags where subscriptions.count < count {
                subscriptions.append(outer.pair(inner, publisher))
            }
        }
        guard subscriptions.count == count else { Report.fail("there are \(subscriptions.count) event types") }
        let time = timeInline(publisher, 1, posts)
        withExtendedLifetime(subscriptions) {}
        Report.deliveries("types\(count)", count: posts, nanoseconds: time)
    }

    // MARK: - Two publishing threads

    /// Compares two threads that publish events of two types with one thread that publishes alone, for random pairs of
    /// types, and reports the median and the worst pair.
    ///
    /// As a control, two threads work on memory of their own between the pairs. The extra time of these threads over
    /// one thread alone is due to the machine.
    private static func twoThreads(pairs: Int, _ posts: Int64) {
        var ratios: [Double] = []
        var controls: [Double] = []
        var slowest: UInt64 = 0
        for _ in 0..<pairs {
            let publisher = EventPublisher()
            // The types are subscribed one after the other, in random order, so a pair may be neighbours in memory.
            let types = EventType.all.shuffled()
            let publishing = types.map { $0.subscribe(publisher) }
            let pair = [publishing[0], publishing[1]].map { publish in { @Sendable in publish(posts) } }
            for publish in pair { publish() }
            let (ratio, together) = twoAgainstOne(pair)
            ratios.append(ratio)
            slowest = max(slowest, together)
            controls.append(twoAgainstOne([{ exchange(posts) }, { exchange(posts) }]).ratio)
        }
        Report.ratios(
            "threads2",
            ratios.sorted(),
            controls: controls.sorted(),
            nanosecondsPerDelivery: Double(slowest) / Double(posts)
        )
    }

    private static func twoAgainstOne(_ bodies: [@Sendable () -> Void]) -> (ratio: Double, together: UInt64) {
        let alone = bodies.map(time).max() ?? 1
        let together = atOnce(bodies)
        return (Double(together) / Double(alone), together)
    }

    /// Does four atomic exchanges for each event on memory that no other thread uses; publishing does as many where the
    /// system has no `membarrier`.
    private static func exchange(_ posts: Int64) {
        let own = allocateAlone(Atomic<UInt64>.self)
        own.initialize(to: Atomic(0))
        var sum: UInt64 = 0
        for number in 0..<UInt64(posts) * 4 {
            sum &+= own.pointee.exchange(number, ordering: .sequentiallyConsistent)
        }
        own.deinitialize(count: 1)
        UnsafeMutableRawPointer(own).deallocate()
        if sum == 0 { Report.fail("W5-threads2: the control has not worked") }
    }

    private static func time(_ body: () -> Void) -> UInt64 {
        let begin = MonotonicClock.now()
        body()
        return MonotonicClock.now() - begin
    }

    /// Runs all bodies at once, each on a thread of its own; returns the longest time.
    private static func atOnce(_ bodies: [@Sendable () -> Void]) -> UInt64 {
        let ready = Atomic<Int>(0)
        let longest = Atomic<UInt64>(0)
        DispatchQueue.concurrentPerform(iterations: bodies.count) { index in
            ready.wrappingAdd(1, ordering: .acquiringAndReleasing)
            while ready.load(ordering: .acquiring) < bodies.count {}
            longest.max(time(bodies[index]), ordering: .relaxed)
        }
        return longest.load(ordering: .relaxed)
    }

    // MARK: - Handlers elsewhere

    /// Measures from the first `publish` to the end of the last handler.
    private static func queue(_ elsewhere: Int64) async {
        let publisher = EventPublisher()
        let sum = Sum()
        let subscription = publisher.subscribe(
            to: BenchmarkEvent.self,
            on: .queue(DispatchQueue(label: "benchmark"))
        ) { event in sum.add(event) }
        await timeElsewhere("queue", elsewhere, publisher, sum)
        withExtendedLifetime(subscription) {}
    }

    private static func task(_ elsewhere: Int64) async {
        let publisher = EventPublisher()
        let sum = Sum()
        let subscription = publisher.subscribe(to: BenchmarkEvent.self) { (event: BenchmarkEvent) async in
            sum.add(event)
        }
        await timeElsewhere("async", elsewhere, publisher, sum)
        withExtendedLifetime(subscription) {}
    }

    /// Publishes in bursts and waits for the end of each, so that handling is measured and not the waking of a thread.
    private static func timeElsewhere(
        _ name: String,
        _ elsewhere: Int64,
        _ publisher: EventPublisher,
        _ sum: Sum
    ) async {
        let burst: Int64 = 1_000
        let begin = MonotonicClock.now()
        for first in stride(from: 0, to: elsewhere, by: Int64.Stride(burst)) {
            for id in first..<first + burst - 1 { publisher.publish(BenchmarkEvent(id: id, title: Title.of(id))) }
            let last = first + burst - 1
            do {
                // When `deliver` returns, this event and all earlier events have been handled.
                try await publisher.deliver(BenchmarkEvent(id: last, title: Title.of(last)), within: .seconds(60))
            } catch {
                Report.fail("\(name): \(error)")
            }
        }
        let time = MonotonicClock.now() - begin
        sum.check("W5-\(name)", posts: elsewhere)
        Report.deliveries(name, count: elsewhere, nanoseconds: time)
    }

    private static func sequence(_ elsewhere: Int64) async {
        let publisher = EventPublisher()
        let events = publisher.events(of: BenchmarkEvent.self)
        let begin = MonotonicClock.now()
        let producer = Task.detached {
            for id in 0..<elsewhere {
                // `send` waits for the consumer. Only some events go through it, so that its own cost hardly counts.
                let event = BenchmarkEvent(id: id, title: Title.of(id))
                if id.isMultiple(of: 1_000) { try await publisher.send(event) } else { publisher.publish(event) }
            }
        }
        let sum = Sum()
        do {
            for try await event in events {
                sum.add(event)
                if sum.count == elsewhere { break }
            }
            try await producer.value
        } catch {
            Report.fail("events(of:): \(error)")
        }
        let time = MonotonicClock.now() - begin
        sum.check("W5-sequence", posts: elsewhere)
        Report.deliveries("sequence", count: elsewhere, nanoseconds: time)
    }

    /// Measures the language's own stream for comparison: one consumer, no subscription, no context, no limit.
    private static func standardStream(_ elsewhere: Int64) async {
        let (events, continuation) = AsyncStream<BenchmarkEvent>.makeStream()
        let begin = MonotonicClock.now()
        let producer = Task.detached {
            for id in 0..<elsewhere { continuation.yield(BenchmarkEvent(id: id, title: Title.of(id))) }
        }
        let sum = Sum()
        for await event in events {
            sum.add(event)
            if sum.count == elsewhere { break }
        }
        await producer.value
        let time = MonotonicClock.now() - begin
        sum.check("W5-async-stream", posts: elsewhere)
        Report.deliveries("async-stream", count: elsewhere, nanoseconds: time)
    }

    // MARK: - Memory

    /// Measures by how much the peak memory grows, so it runs before all other measurements.
    private static func memory() {
        let count = 20_000
        let publisher = EventPublisher()
        let types = EventType.all
        var subscriptions = types.map { $0.idle(publisher) }
        subscriptions.reserveCapacity(count + types.count)
        let before = CurrentProcess.peakResidentBytes()
        for index in 0..<count { subscriptions.append(types[index % types.count].idle(publisher)) }
        Report.bytes("subscription", Double(CurrentProcess.peakResidentBytes() - before) / Double(count))
        withExtendedLifetime(subscriptions) {}
    }
}

// MARK: - Event types

/// An event type for each tag.
///
/// The event has no title: threads that count references to the same sixteen strings would slow each other down.
private struct TaggedEvent<Tag: Sendable>: DomainEvent {
    let id: Int64

    static var eventName: String { String(reflecting: Self.self) }
}

/// An event type for each pair of tags.
private enum Pair<First, Second> {}

/// One of the event types, with its operations.
///
/// The compiler makes these closures for each type, so publishing takes the same path as with a user's own types.
private struct EventType: Sendable {
    /// Subscribes to the events of this type; the returned closure publishes the given number of them.
    let subscribe: @Sendable (_ publisher: EventPublisher) -> @Sendable (_ posts: Int64) -> Void
    /// Subscribes to the events of this type and does nothing with them.
    let idle: @Sendable (_ publisher: EventPublisher) -> Subscription
    /// Subscribes to an event type that is made from this type and another one.
    let pair: @Sendable (_ other: EventType, _ publisher: EventPublisher) -> Subscription
    private let tag: any Sendable.Type

    init<Tag: Sendable>(_ tag: Tag.Type) {
        self.tag = tag
        subscribe = { publisher in
            // Only the handlers of one publishing thread at a time write the sum.
            let sum = allocateAlone(Int64.self)
            sum.initialize(to: 0)
            nonisolated(unsafe) let total = sum
            let subscription = publisher.subscribe(to: TaggedEvent<Tag>.self) { event in total.pointee &+= event.id }
            return { posts in
                total.pointee = 0
                for id in 0..<posts { publisher.publish(TaggedEvent<Tag>(id: id)) }
                guard total.pointee == posts * (posts - 1) / 2 else {
                    Report.fail("W5-threads2: the sum is \(total.pointee)")
                }
                withExtendedLifetime(subscription) {}
            }
        }
        idle = { publisher in publisher.subscribe(to: TaggedEvent<Tag>.self) { _ in } }
        pair = { other, publisher in
            func open<Other: Sendable>(_ other: Other.Type) -> Subscription {
                publisher.subscribe(to: TaggedEvent<Pair<Tag, Other>>.self) { _ in }
            }
            return open(other.tag)
        }
    }

    /// Forty types of the standard library; they only have to differ.
    static let all = [
        EventType(Int.self), EventType(Int8.self), EventType(Int16.self), EventType(Int32.self),
        EventType(Int64.self), EventType(UInt.self), EventType(UInt8.self), EventType(UInt16.self),
        EventType(UInt32.self), EventType(UInt64.self), EventType(Bool.self), EventType(Float.self),
        EventType(Double.self), EventType(String.self), EventType(Character.self), EventType(Substring.self),
        EventType([Int].self), EventType([Int8].self), EventType([Int16].self), EventType([Int32].self),
        EventType([Int64].self), EventType([UInt].self), EventType([UInt8].self), EventType([UInt16].self),
        EventType([UInt32].self), EventType([UInt64].self), EventType([Bool].self), EventType([Float].self),
        EventType([Double].self), EventType([String].self), EventType(Int?.self), EventType(Int8?.self),
        EventType(Int16?.self), EventType(Int32?.self), EventType(Int64?.self), EventType(UInt?.self),
        EventType(UInt8?.self), EventType(UInt16?.self), EventType(UInt32?.self), EventType(UInt64?.self),
    ]
}
