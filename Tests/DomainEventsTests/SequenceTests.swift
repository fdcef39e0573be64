import DomainEvents
import TestSupport
import Testing

/// Observes changes of interest, for one name.
private final class Interest: InterestObserver {
    let isBridge = false
    let name: String
    let publisher: EventPublisher
    let changes = Collected<Bool>()
    let made = Collected<String>()

    init(_ name: String, _ publisher: EventPublisher) {
        self.name = name
        self.publisher = publisher
    }

    func interestMayHaveChanged(in name: String) {
        if name == self.name { changes.add(publisher.isWanted(name)) }
    }

    func channelWasMade(_ channel: AnyEventChannel) {
        made.add(channel.name)
    }
}

@Suite("A sequence of events is a subscriber of its own", .timeLimit(.minutes(5)))
struct SequenceTests {
    private let publisher = EventPublisher()

    @Test func eachConsumerSeesEveryEvent() async throws {
        let first = publisher.events(of: Ping.self)
        let second = publisher.events(of: Ping.self)
        let consumers = [first, second].map { sequence in
            Task {
                var seen: [Int] = []
                for try await event in sequence {
                    seen.append(event.number)
                    if seen.count == 1_000 { break }
                }
                return seen
            }
        }
        for number in 0..<1_000 {
            publisher.publish(Ping(number))
            if number.isMultiple(of: 50) { await Task.yield() }
        }
        for consumer in consumers { #expect(try await consumer.value == Array(0..<1_000)) }
    }

    @Test func itIsSubscribedFromTheMomentItIsMadeAndFurtherIteratorsFromTheirs() async throws {
        let sequence = publisher.events(of: Ping.self)
        publisher.publish(Ping(1))
        var first = sequence.makeAsyncIterator()
        var second = sequence.makeAsyncIterator()
        publisher.publish(Ping(2))
        #expect(try await first.next() == Ping(1))
        #expect(try await first.next() == Ping(2))
        #expect(try await second.next() == Ping(2))
    }

    @Test func aWaitingConsumerGetsTheNextEvent() async throws {
        let sequence = publisher.events(of: Ping.self)
        let waiting = Task {
            var iterator = sequence.makeAsyncIterator()
            return try await iterator.next()
        }
        await Task.yield()
        publisher.publish(Ping(3))
        #expect(try await waiting.value == Ping(3))
    }

    @Test func cancellingTheTaskEndsIt() async throws {
        // The cancellation meets the consumer before, in and after its wait.
        for round in 0..<300 {
            let sequence = publisher.events(of: Ping.self)
            let consumer = Task {
                var count = 0
                for try await _ in sequence { count += 1 }
                return count
            }
            for _ in 0..<(round % 4) { await Task.yield() }
            if round.isMultiple(of: 3) { publisher.publish(Ping(round)) }
            consumer.cancel()
            #expect(try await consumer.value <= 1)
        }
        #expect(!publisher.isWanted("Ping"))
    }

    @Test func releasingTheIteratorEndsItsSubscription() async throws {
        let interest = Interest("Ping", publisher)
        publisher.addInterestObserver(interest)
        do {
            var iterator = publisher.events(of: Ping.self).makeAsyncIterator()
            #expect(publisher.isWanted("Ping"))
            publisher.publish(Ping(1))
            #expect(try await iterator.next() == Ping(1))
        }
        #expect(!publisher.isWanted("Ping"))
        #expect(interest.changes.all == [true, false])
        #expect(interest.made.all == ["Ping"])
        publisher.removeInterestObserver(interest)
    }

    @Test func releasingTheSequenceEndsItIfNothingIterates() {
        do {
            let sequence = publisher.events(of: Ping.self)
            #expect(publisher.isWanted("Ping"))
            withExtendedLifetime(sequence) {}
        }
        #expect(!publisher.isWanted("Ping"))
    }

    @Test func releasingThePublisherEndsItAfterWhatWaits() async throws {
        var publisher: EventPublisher? = EventPublisher()
        var iterator = try #require(publisher).events(of: Ping.self).makeAsyncIterator()
        publisher?.publish(Ping(1))
        publisher = nil
        #expect(try await iterator.next() == Ping(1))
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func releasingThePublisherEndsAWait() async throws {
        let held = Holder<EventPublisher>()
        held.swap(EventPublisher())
        let log = Collected<Bool>()
        let waiting = Task {
            var iterator = held.current?.events(of: Ping.self).makeAsyncIterator()
            log.add(true)
            return try await iterator?.next()
        }
        await log.wait(for: 1)
        await Task.yield()
        held.swap(nil)
        #expect(try await waiting.value == nil)
    }

    @Test("releasing the publisher ends the loops over sequences that are kept, and later loops at once")
    func releasingThePublisherEndsKeptSequences() async throws {
        let held = Holder<EventPublisher>()
        held.swap(EventPublisher())
        weak let publisher = held.current
        let (events, deliveries, items) = try {
            let publisher = try #require(held.current)
            return (
                publisher.events(of: Ping.self),
                publisher.deliveries(of: Ping.self),
                publisher.eventsAndGaps(of: Ping.self)
            )
        }()
        let log = Collected<Int>()
        let loops: [Task<Void, any Error>] = [
            Task { for try await event in events { log.add(event.number) } },
            Task { for try await delivery in deliveries { log.add(delivery.event.number) } },
            Task { for await _ in items { log.add(7) } },
        ]
        held.current?.publish(Ping(7))
        #expect(await log.wait(for: 3) == [7, 7, 7])
        held.swap(nil)
        // If the sequences held the publisher, the loops would never end.
        try #require(publisher == nil)
        for loop in loops { try await loop.value }
        for try await event in events { log.add(event.number) }
        for try await delivery in deliveries { log.add(delivery.event.number) }
        for await _ in items { log.add(7) }
        #expect(log.count == 3)
    }

    @Test func whatIsMissedIsReportedInItsPlaceWithItsCount() async throws {
        let limit = 100
        var iterator = publisher.events(of: Ping.self, buffering: .oldest(limit)).makeAsyncIterator()
        for number in 0..<(limit + 7) { publisher.publish(Ping(number)) }
        for number in 0..<limit {
            guard try await iterator.next() == Ping(number) else {
                Issue.record("event \(number) is missing or misplaced")
                return
            }
            // Room that becomes free meanwhile takes events after the gap.
            if number == limit / 2 { publisher.publish(Ping(-1)) }
        }
        let missed = await #expect(throws: EventsMissed.self) { try await iterator.next() }
        #expect(missed?.gap == EventGap(event: "Ping", count: 7, limit: limit))
        #expect(try await iterator.next() == Ping(-1))
        publisher.publish(Ping(-2))
        #expect(try await iterator.next() == Ping(-2))
    }

    @Test func aConsumerThatLagsForeverStillSeesEachEventOnce() async throws {
        var iterator = publisher.events(of: Ping.self).makeAsyncIterator()
        publisher.publish(Ping(0))
        for number in 1..<5_000 {
            publisher.publish(Ping(number))
            #expect(try await iterator.next() == Ping(number - 1))
        }
    }
}
