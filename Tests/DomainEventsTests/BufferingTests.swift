import Dispatch
import TestSupport
import Testing

@testable import DomainEvents

private struct Reading: DomainEvent, Equatable {
    let sensor: Int
    let value: Int
}

private enum Item: Equatable {
    case event(Int)
    case gap(Int)

    init?(_ item: EventOrGap<Ping>?) {
        switch item {
        case .event(let event): self = .event(event.number)
        case .gap(let gap): self = .gap(gap.count)
        case nil: return nil
        }
    }
}

@Suite("What a slow consumer misses follows its policy and is reported in its place", .timeLimit(.minutes(5)))
struct BufferingTests {
    private let publisher = EventPublisher()

    private func items(_ count: Int, of iterator: inout EventAndGapSequence<Ping>.Iterator) async -> [Item] {
        var items: [Item] = []
        while items.count < count, let item = Item(await iterator.next()) { items.append(item) }
        return items
    }

    @Test func newestKeepsTheYoungestBehindOneGap() async {
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .newest(3)).makeAsyncIterator()
        for number in 0..<10 { publisher.publish(Ping(number)) }
        #expect(await items(2, of: &iterator) == [.gap(7), .event(7)])
        // Two events wait, so the next two find room for one.
        publisher.publish(Ping(10))
        publisher.publish(Ping(11))
        #expect(await items(4, of: &iterator) == [.gap(1), .event(9), .event(10), .event(11)])
    }

    @Test func newestOfOne() async {
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .newest(1)).makeAsyncIterator()
        for number in 0..<5 { publisher.publish(Ping(number)) }
        #expect(await items(2, of: &iterator) == [.gap(4), .event(4)])
        publisher.publish(Ping(5))
        #expect(await items(1, of: &iterator) == [.event(5)])
    }

    @Test func newestCountsRightOverManyEvents() async {
        // Sizes around those at which a strand's memory is moved.
        for limit in [1, 2, 511, 512, 513, 700] {
            var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .newest(limit)).makeAsyncIterator()
            let total = 3_000
            for number in 0..<total { publisher.publish(Ping(number)) }
            let expected: [Item] = [.gap(total - limit)] + ((total - limit)..<total).map { .event($0) }
            #expect(await items(limit + 1, of: &iterator) == expected)
        }
    }

    @Test("newest counts the events on both sides of a gap as missed, with the gap", arguments: [false, true])
    func newestAroundAGap(beginsWithAGap: Bool) async {
        let channel = publisher.channel(of: Ping.self)
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .newest(2)).makeAsyncIterator()
        if beginsWithAGap { channel.eventsWereMissed(1) }
        publisher.publish(Ping(1))
        channel.eventsWereMissed(5)
        for number in 2...4 { publisher.publish(Ping(number)) }
        let lost = beginsWithAGap ? 6 : 5
        let gap = EventGap(event: "Ping", count: lost + 2, droppedOnTheWay: lost, limit: 2)
        #expect(await iterator.next().text == gap.description)
        #expect(await iterator.next().text == "3")
        #expect(await iterator.next().text == "4")
    }

    @Test(
        "the room of an event that the consumer takes is free at once for the next event",
        arguments: [EventBuffering<Ping>.newest(2), .latest(limit: 2) { $0.number }]
    )
    func roomOfAnEventThatIsBeingTaken(buffering: EventBuffering<Ping>) async {
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: buffering).makeAsyncIterator()
        for number in 1...2 { publisher.publish(Ping(number)) }
        // The consumer has taken the first event under the lock, and has not gone on yet.
        #expect(iterator.consumer.buffer.takeHand() == nil)
        publisher.publish(Ping(3))
        #expect(await items(3, of: &iterator) == [.event(1), .event(2), .event(3)])
        // The event has left the room once, not twice.
        for number in 4...6 { publisher.publish(Ping(number)) }
        #expect(await items(3, of: &iterator) == [.gap(1), .event(5), .event(6)])
    }

    @Test func oldestKeepsTheFirstAndGoesOnBehindTheGap() async {
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .oldest(3)).makeAsyncIterator()
        for number in 0..<5 { publisher.publish(Ping(number)) }
        #expect(await items(1, of: &iterator) == [.event(0)])
        publisher.publish(Ping(5))
        publisher.publish(Ping(6))
        #expect(
            await items(5, of: &iterator) == [.event(1), .event(2), .gap(2), .event(5), .gap(1)]
        )
    }

    @Test func latestKeepsOneOfAKeyInThePlaceOfTheFirst() async throws {
        var iterator = publisher.events(of: Reading.self, buffering: .latest(limit: 3) { $0.sensor })
            .makeAsyncIterator()
        for (sensor, value) in [(1, 10), (2, 20), (1, 11), (3, 30), (2, 21)] {
            publisher.publish(Reading(sensor: sensor, value: value))
        }
        #expect(try await iterator.next() == Reading(sensor: 1, value: 11))
        // An event with the key that was taken is new, and comes at the end.
        publisher.publish(Reading(sensor: 1, value: 12))
        #expect(try await iterator.next() == Reading(sensor: 2, value: 21))
        #expect(try await iterator.next() == Reading(sensor: 3, value: 30))
        #expect(try await iterator.next() == Reading(sensor: 1, value: 12))
    }

    @Test func latestMissesTheOldestKeyWhenThereAreTooMany() async throws {
        var iterator = publisher.events(of: Reading.self, buffering: .latest(limit: 2) { $0.sensor })
            .makeAsyncIterator()
        for sensor in 1...4 { publisher.publish(Reading(sensor: sensor, value: 0)) }
        // A key whose event was missed counts as new.
        publisher.publish(Reading(sensor: 1, value: 1))
        publisher.publish(Reading(sensor: 4, value: 1))
        let missed = await #expect(throws: EventsMissed.self) { try await iterator.next() }
        #expect(missed?.gap.count == 3)
        #expect(try await iterator.next() == Reading(sensor: 4, value: 1))
        #expect(try await iterator.next() == Reading(sensor: 1, value: 1))
    }

    @Test func latestAgreesWithAModelOverRandomTraffic() async throws {
        let seed = SeededGenerator.announced().seed
        var random = SeededGenerator(seed: seed)
        let limit = 5
        var iterator = publisher.eventsAndGaps(of: Reading.self, buffering: .latest(limit: limit) { $0.sensor })
            .makeAsyncIterator()
        var model: [Reading] = []
        var missed = 0
        for value in 0..<rounds(5_000) {
            if random.below(3) > 0 || model.isEmpty && missed == 0 {
                let reading = Reading(sensor: random.below(8), value: value)
                publisher.publish(reading)
                if let index = model.firstIndex(where: { $0.sensor == reading.sensor }) {
                    model[index] = reading
                } else {
                    if model.count == limit {
                        model.removeFirst()
                        missed += 1
                    }
                    model.append(reading)
                }
            } else {
                switch await iterator.next() {
                case .gap(let gap):
                    #expect(gap.count == missed, "seed \(seed)")
                    missed = 0
                case .event(let reading):
                    #expect(missed == 0 && reading == model.first, "seed \(seed)")
                    model.removeFirst()
                case nil:
                    Issue.record("the sequence has ended, seed \(seed)")
                }
            }
        }
    }

    @Test func waitingGoesOnToTheHardLimitForThoseWhoDoNotWait() async throws {
        let limit = 4
        let hard = limit * EventBuffering<Ping>.hardLimitFactor
        var iterator = publisher.events(of: Ping.self, buffering: .waiting(limit)).makeAsyncIterator()
        for number in 0..<(hard + 3) { publisher.publish(Ping(number)) }
        for number in 0..<hard { #expect(try await iterator.next() == Ping(number)) }
        let missed = await #expect(throws: EventsMissed.self) { try await iterator.next() }
        #expect(missed?.gap == EventGap(event: "Ping", count: 3, limit: hard))
        publisher.publish(Ping(-1))
        #expect(try await iterator.next() == Ping(-1))
    }

    @Test func whatWasLostOnTheWayIsAGapInItsPlaceAlsoForAConsumerThatSleeps() async throws {
        let channel = publisher.channel(of: Ping.self)
        let linked = EventPublisher()
        let forwarding = publisher.forward(Ping.self, to: linked)
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .waiting(2)).makeAsyncIterator()
        var throwing = linked.events(of: Ping.self).makeAsyncIterator()
        publisher.publish(Ping(1))
        channel.eventsWereMissed(2)
        channel.eventsWereMissed(3)
        publisher.publish(Ping(2))
        let limit = 2 * EventBuffering<Ping>.hardLimitFactor
        let gap = EventGap(event: "Ping", count: 5, droppedOnTheWay: 5, limit: limit)
        #expect(gap.description == "5 Ping events were missed: an outbox on the way dropped 5")
        #expect(await iterator.next().text == "1")
        #expect(await iterator.next().text == gap.description)
        #expect(await iterator.next().text == "2")
        #expect(try await throwing.next() == Ping(1))
        let missed = await #expect(throws: EventsMissed.self) { try await throwing.next() }
        #expect(missed?.gap.droppedOnTheWay == 5)
        #expect(try await throwing.next() == Ping(2))
        let sleeper = Task { [sequence = publisher.eventsAndGaps(of: Ping.self)] in
            var iterator = sequence.makeAsyncIterator()
            return await iterator.next().text
        }
        // The gap reaches the consumer, whether it sleeps by now or not.
        for _ in 0..<50 { await Task.yield() }
        channel.eventsWereMissed(1)
        #expect(await sleeper.value == "1 Ping events were missed: an outbox on the way dropped 1")
        forwarding.cancel()
    }

    @Test("a gap that other processes say is larger than any number stays that, and takes more", arguments: [2, 5])
    func gapBeyondCounting(times: Int) async throws {
        let channel = publisher.channel(of: Ping.self)
        var iterator = publisher.eventsAndGaps(of: Ping.self, buffering: .newest(1)).makeAsyncIterator()
        for _ in 0..<times { channel.eventsWereMissed(.max) }
        for number in 0..<4 { publisher.publish(Ping(number)) }
        let gap = EventGap(event: "Ping", count: .max, droppedOnTheWay: .max, limit: 1)
        #expect(await iterator.next().text == gap.description)
        #expect(await iterator.next().text == "3")
    }

    @Test func deliveriesTellIdentityAndCause() async throws {
        var iterator = publisher.deliveries(of: Ping.self).makeAsyncIterator()
        var answers = publisher.deliveries(of: Pong.self).makeAsyncIterator()
        let id = try await publisher.send(Ping(1))
        let ping = try #require(try await iterator.next())
        #expect(ping.event == Ping(1))
        #expect(ping.context.id == id)
        #expect(ping.context.attempt == 1)
        #expect(ping.context.cause == nil)
        #expect(EventContext.current == nil)
        publisher.publish(Pong(2), causedBy: ping.context)
        let pong = try #require(try await answers.next())
        #expect(pong.context.cause == id)
        #expect(pong.context.root == id)
    }
}

@Suite("send waits for room", .timeLimit(.minutes(5)))
struct RoomTests {
    private let publisher = EventPublisher()

    /// Lets tasks that can go on do so; if they cannot, the next expectation is true anyway.
    private func letOthersRun() async { for _ in 0..<200 { await Task.yield() } }

    @Test func inASequenceUntilItsConsumerHasTakenOne() async throws {
        let sequence = publisher.events(of: Ping.self, buffering: .waiting(2))
        var iterator = sequence.makeAsyncIterator()
        try await publisher.send(Ping(0))
        try await publisher.send(Ping(1))
        let log = Collected<Int>()
        let sender = Task { [publisher] in
            try await publisher.send(Ping(2))
            log.add(2)
        }
        await letOthersRun()
        #expect(log.all.isEmpty)
        #expect(try await iterator.next() == Ping(0))
        try await sender.value
        #expect(try await iterator.next() == Ping(1))
        #expect(try await iterator.next() == Ping(2))
    }

    @Test func notForASequenceThatNothingIterates() async throws {
        let sequence = publisher.events(of: Ping.self, buffering: .waiting(2))
        for number in 0..<20 { try await publisher.send(Ping(number)) }
        var iterator = sequence.makeAsyncIterator()
        for number in 0..<20 { #expect(try await iterator.next() == Ping(number)) }
    }

    @Test(arguments: ["cancel", "release"])
    func notForAConsumerThatHasGone(way: String) async throws {
        let iterating = Collected<Int>()
        let gone = Barrier()
        let consumer = Task { [sequence = publisher.events(of: Ping.self, buffering: .waiting(1))] in
            var iterator: EventSequence<Ping>.Iterator? = sequence.makeAsyncIterator()
            iterating.add(0)
            await gone.pass()
            if way == "cancel" { while let _ = try await iterator?.next() {} }
            iterator = nil
        }
        await iterating.wait(for: 1)
        try await publisher.send(Ping(0))
        let senders = (1...5).map { number in Task { [publisher] in try await publisher.send(Ping(number)) } }
        await letOthersRun()
        if way == "cancel" { consumer.cancel() }
        gone.open()
        for sender in senders { _ = try await sender.value }
        try await consumer.value
    }

    @Test func untilItsTaskIsCancelledAndThenNothingIsPublished() async throws {
        var iterator = publisher.events(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        try await publisher.send(Ping(0))
        for round in 0..<200 {
            let sender = Task { [publisher] in try await publisher.send(Ping(-1)) }
            for _ in 0..<(round % 5) { await Task.yield() }
            sender.cancel()
            await #expect(throws: CancellationError.self) { try await sender.value }
        }
        publisher.publish(Ping(1))
        #expect(try await iterator.next() == Ping(0))
        #expect(try await iterator.next() == Ping(1))
    }

    @Test func oneForEachPlaceWhateverTheirNumber() async throws {
        // A sender that was told of room keeps that place until it comes: if the same place were promised twice, the
        // buffer would run over its hard limit, and sent events would be missed.
        let limit = 64
        let senders = 3_000
        var iterator = publisher.events(of: Ping.self, buffering: .waiting(limit)).makeAsyncIterator()
        for _ in 0..<limit { publisher.publish(Ping(-1)) }
        let tasks = (0..<senders).map { number in Task { [publisher] in try await publisher.send(Ping(number)) } }
        var seen = 0
        while seen < limit + senders, try await iterator.next() != nil { seen += 1 }
        for task in tasks { _ = try await task.value }
        #expect(seen == limit + senders)
    }

    @Test func whoIsToldOfRoomAndDoesNotComeLeavesItToTheNext() async throws {
        // Two consumers: the first sender gets a place with one of them and gives up waiting for the other.
        var first = publisher.events(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        var second = publisher.events(of: Ping.self, buffering: .waiting(1)).makeAsyncIterator()
        publisher.publish(Ping(0))
        let givesUp = Task { [publisher] in try await publisher.send(Ping(1)) }
        await letOthersRun()
        let stays = Task { [publisher] in try await publisher.send(Ping(2)) }
        await letOthersRun()
        #expect(try await first.next() == Ping(0))
        await letOthersRun()
        givesUp.cancel()
        await #expect(throws: CancellationError.self) { try await givesUp.value }
        #expect(try await second.next() == Ping(0))
        _ = try await stays.value
        #expect(try await first.next() == Ping(2))
        #expect(try await second.next() == Ping(2))
    }

    @Test(arguments: ["queue", "task"])
    func inTheStrandOfAHandlerElsewhere(kind: String) async throws {
        let queue = DispatchQueue(label: "handlers")
        let barrier = Barrier()
        let log = Collected<Int>()
        queue.suspend()
        let subscription =
            kind == "queue"
            ? publisher.subscribe(to: Ping.self, on: .queue(queue)) { log.add($0.number) }
            : publisher.subscribe(to: Ping.self) { (event: Ping) async in
                await barrier.pass()
                log.add(event.number)
            }
        let sent = Collected<Int>()
        let total = 6_000
        let sender = Task { [publisher] in
            for number in 0..<total {
                try await publisher.send(Ping(number))
                sent.add(number)
            }
        }
        await sent.wait(for: 4_096)
        await letOthersRun()
        // Beside the waiting events, one may be in the handler.
        #expect(sent.count <= 4_097)
        queue.resume()
        barrier.open()
        try await sender.value
        #expect(await log.wait(for: total) == Array(0..<total))
        subscription.cancel()
    }

    @Test func notInsideHandlers() async throws {
        var iterator = publisher.events(of: Pong.self, buffering: .waiting(1)).makeAsyncIterator()
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] (event: Ping) async throws in
            try await publisher.send(Pong(event.number))
            log.add(event.number)
        }
        for number in 0..<10 { publisher.publish(Ping(number)) }
        await log.wait(for: 10)
        for number in 0..<10 { #expect(try await iterator.next() == Pong(number)) }
        subscription.cancel()
    }

    /// Starts a task in an asynchronous handler; runs `body` in the task when the handler has returned.
    private func outlivingTask(_ body: @escaping @Sendable () async throws -> Void) async -> Task<Void, any Error> {
        let tasks = Collected<Task<Void, any Error>>()
        let (returned, begun) = (Barrier(), Barrier())
        let subscription = publisher.subscribe(to: Ping.self) { (event: Ping) async in
            // The handler's second call begins when the first one has returned.
            if event.number > 0 { return returned.open() }
            tasks.add(
                Task {
                    await returned.pass()
                    await begun.pass()
                    try await body()
                }
            )
        }
        for number in 0..<2 { publisher.publish(Ping(number)) }
        await returned.pass()
        subscription.cancel()
        begun.open()
        return tasks.all[0]
    }

    @Test("in a task that outlives the asynchronous handler which has started it")
    func inATaskThatOutlivesItsHandler() async throws {
        var iterator = publisher.deliveries(of: Pong.self, buffering: .waiting(1)).makeAsyncIterator()
        publisher.publish(Pong(0))
        let sent = Collected<Int>()
        let task = await outlivingTask { [publisher] in
            for number in 1...2 {
                try await publisher.send(Pong(number))
                sent.add(number)
            }
        }
        await letOthersRun()
        #expect(sent.all.isEmpty)
        #expect(try await iterator.next()?.event == Pong(0))
        await sent.wait(for: 1)
        await letOthersRun()
        #expect(sent.all == [1])
        for number in 1...2 {
            let delivery = try await iterator.next()
            #expect(delivery?.event == Pong(number))
            // The event that the handler has handled is still the cause.
            #expect(delivery?.context.cause != nil)
        }
        try await task.value
    }

    @Test("in a task that outlives its handler, until the task is cancelled; then the event is not published")
    func inAnOutlivingTaskUntilItIsCancelled() async throws {
        var iterator = publisher.events(of: Pong.self, buffering: .waiting(1)).makeAsyncIterator()
        publisher.publish(Pong(0))
        let cancelled = Barrier()
        let task = await outlivingTask { [publisher] in
            await cancelled.pass()
            try await publisher.send(Pong(1))
        }
        task.cancel()
        cancelled.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        publisher.publish(Pong(2))
        #expect(try await iterator.next() == Pong(0))
        #expect(try await iterator.next() == Pong(2))
    }

    @Test("not beyond the time of a deliver in a task that outlives its handler; then the event is not published")
    func deliverInAnOutlivingTask() async throws {
        let clock = HandClock()
        var iterator = publisher.events(of: Pong.self, buffering: .waiting(1)).makeAsyncIterator()
        publisher.publish(Pong(0))
        let task = await outlivingTask { [publisher] in
            try await publisher.deliver(Pong(1), within: .seconds(5), clock: clock)
        }
        await clock.asleep.wait(for: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await task.value }
        #expect(error?.code == .timedOut)
        publisher.publish(Pong(2))
        #expect(try await iterator.next() == Pong(0))
        #expect(try await iterator.next() == Pong(2))
    }

    @Test("not in tasks of an asynchronous handler that waits for them")
    func notInTasksOfARunningHandler() async throws {
        var iterator = publisher.events(of: Pong.self, buffering: .waiting(1)).makeAsyncIterator()
        let log = Collected<Int>()
        let subscription = publisher.subscribe(to: Ping.self) { [publisher] (event: Ping) async throws in
            async let child = publisher.send(Pong(2 * event.number))
            _ = try await child
            try await Task { _ = try await publisher.send(Pong(2 * event.number + 1)) }.value
            log.add(event.number)
        }
        for number in 0..<3 { publisher.publish(Ping(number)) }
        await log.wait(for: 3)
        for number in 0..<6 { #expect(try await iterator.next() == Pong(number)) }
        subscription.cancel()
    }

    @Test func alsoDeliverAndNotBeyondItsTime() async throws {
        let clock = HandClock()
        let sequence = publisher.events(of: Ping.self, buffering: .waiting(1))
        let iterator = sequence.makeAsyncIterator()
        publisher.publish(Ping(0))
        let delivery = Task { [publisher] in try await publisher.deliver(Ping(1), within: .seconds(5), clock: clock) }
        await clock.asleep.wait(for: 1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await delivery.value }
        #expect(error?.code == .timedOut)
        withExtendedLifetime(iterator) {}
    }
}

extension EventOrGap<Ping>? {
    fileprivate var text: String {
        switch self {
        case .event(let event): "\(event.number)"
        case .gap(let gap): gap.description
        case nil: "end"
        }
    }
}
