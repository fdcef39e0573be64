import DomainEvents
import EventBridgeTesting
import Testing

private struct TeaOrdered: DomainEvent, Equatable { let number: Int }
private struct TeaServed: DomainEvent, Equatable { let number: Int }
private struct TeaSpilled: DomainEvent { let number: Int }
private struct TeaRace0: DomainEvent { let number: Int }
private struct TeaRace1: DomainEvent { let number: Int }
private struct TeaRace2: DomainEvent { let number: Int }
private struct TeaRace3: DomainEvent { let number: Int }

private struct Clumsy: Error {}

@Suite("A recorder that names no types keeps all events, in order", .timeLimit(.minutes(5)))
struct EveryEventRecorderTests {
    private let publisher = EventPublisher()

    @Test func ofTypesThatWereUsedBeforeAndOfTypesThatWereNot() {
        publisher.publish(TeaOrdered(number: 0))
        let subscription = publisher.subscribe(to: TeaSpilled.self) { _ in }
        let recorder = EventRecorder(publisher)
        publisher.publish(TeaOrdered(number: 1))
        publisher.publish(TeaServed(number: 2))
        publisher.publish(TeaSpilled(number: 3))
        publisher.publish(TeaOrdered(number: 4))
        #expect(recorder.names == ["TeaOrdered", "TeaServed", "TeaSpilled", "TeaOrdered"])
        #expect(recorder.events(TeaOrdered.self).map(\.number) == [1, 4])
        withExtendedLifetime(subscription) {}
    }

    @Test func whatAHandlerPublishesBehindWhatItHandles() {
        let recorder = EventRecorder(publisher)
        let subscriptions = [
            publisher.subscribe(to: TeaOrdered.self) { [publisher] event in
                publisher.publish(TeaServed(number: event.number))
                throw Clumsy()
            },
            publisher.subscribe(to: TeaServed.self) { [publisher] event in
                publisher.publish(TeaSpilled(number: event.number))
            },
        ]
        publisher.publish(TeaOrdered(number: 1))
        #expect(recorder.names == ["TeaOrdered", "TeaServed", "HandlerFailed", "TeaSpilled"])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func withoutATypeUnderTheirOwnNames() async throws {
        let recorder = EventRecorder(publisher)
        for name in ["TeaMilked", "TeaStirred", "TeaMilked"] {
            try publisher.publish(UntypedEvent(name: name, payload: [0]))
        }
        #expect(recorder.names == ["TeaMilked", "TeaStirred", "TeaMilked"])
        #expect(recorder.events(UntypedEvent.self).map(\.name) == recorder.names)
        #expect(try await recorder.next(UntypedEvent.self).name == "TeaMilked")
    }

    @Test func alsoWhereThePublisherDeliversOnAQueue() {
        let publisher = EventPublisher(deliveringOn: .main)
        let recorder = EventRecorder(publisher)
        publisher.publish(TeaServed(number: 1))
        #expect(recorder.names == ["TeaServed"])
    }

    @Test func alsoWhenTypesAreFirstUsedOnManyThreadsAtOnce() async {
        for _ in 0..<200 {
            let publisher = EventPublisher()
            let recorder = EventRecorder(publisher)
            await withTaskGroup { group in
                for number in 0..<4 {
                    group.addTask {
                        publisher.publish(TeaRace0(number: number))
                        publisher.publish(TeaRace1(number: number))
                        publisher.publish(TeaRace2(number: number))
                        publisher.publish(TeaRace3(number: number))
                    }
                }
            }
            #expect(recorder.all.count == 16)
            #expect(recorder.events(TeaRace2.self).map(\.number).sorted() == [0, 1, 2, 3])
        }
    }

    @Test func untilItIsReleased() {
        publisher.publish(TeaServed(number: 1))
        do {
            let recorder = EventRecorder(publisher)
            #expect(publisher.isWanted("TeaServed"))
            withExtendedLifetime(recorder) {}
        }
        publisher.publish(TeaOrdered(number: 1))
        #expect(!publisher.isWanted("TeaServed"))
        #expect(!publisher.isWanted("TeaOrdered"))
    }

    @Test func andWaitsForATypeThatHasNotBeenUsedYet() async throws {
        let recorder = EventRecorder(publisher)
        async let served = recorder.next(TeaServed.self)
        await Task.yield()
        publisher.publish(TeaServed(number: 7))
        #expect(try await served == TeaServed(number: 7))
    }

    @Test func andGivesUpWhenTheClockThatItWasGivenSaysSo() async throws {
        let clock = ManualClock()
        let recorder = EventRecorder(publisher)
        publisher.publish(TeaOrdered(number: 1))
        let waiting = Task { try await recorder.next(TeaServed.self, within: .seconds(5), clock: clock) }
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: EventNotRecorded.self) { try await waiting.value }
        #expect(
            error?.description == """
                no TeaServed was published within 5.0 seconds; recorded instead:
                  1. TeaOrdered(number: 1)
                """
        )
    }
}

@Suite("A manual clock measures what a publisher waits for", .timeLimit(.minutes(5)))
struct PublisherClockTests {
    private let publisher = EventPublisher()
    private let clock = ManualClock()

    @Test func whenHandlersAreNotDoneInTime() async throws {
        let subscription = publisher.subscribe(to: TeaOrdered.self) { (_: TeaOrdered) async throws in
            try await ManualClock().sleep(for: .seconds(1))
        }
        let waiting = Task { [publisher, clock] in
            try await publisher.deliver(TeaOrdered(number: 1), within: .seconds(5), clock: clock)
        }
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await waiting.value }
        #expect(error?.code == .timedOut)
        withExtendedLifetime(subscription) {}
    }

    @Test func whenARequestIsNotAnsweredInTime() async throws {
        let subscription = publisher.subscribe(to: TeaOrdered.self) { _ in }
        let waiting = Task { [publisher, clock] in
            try await publisher.request(
                TeaOrdered(number: 1),
                awaiting: TeaServed.self,
                within: .seconds(5),
                clock: clock
            )
        }
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: DeliveryError.self) { try await waiting.value }
        #expect(error?.code == .timedOut)
        withExtendedLifetime(subscription) {}
    }
}

@Suite("Publishers for tests deliver nothing", .timeLimit(.minutes(5)))
struct NullPublisherTests {
    private final class Cup: EventConsumer {
        func consume(_ event: TeaServed) { Issue.record("\(event) was delivered") }
    }

    private func subscribe(to publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: TeaServed.self) { Issue.record("\($0) was delivered") },
            publisher.subscribe(to: TeaServed.self, on: .main) { Issue.record("\($0) was delivered") },
            publisher.subscribe(to: TeaServed.self) { event async in Issue.record("\(event) was delivered") },
        ]
    }

    @Test func aNullPublisherTakesEverything() async throws {
        let publisher = EventPublisher.null()
        let cup = Cup()
        publisher.subscribe(cup)
        let subscriptions = subscribe(to: publisher)
        publisher.publish(TeaServed(number: 1))
        try await publisher.send(TeaServed(number: 2))
        await #expect(throws: DeliveryError.self) {
            try await publisher.deliver(TeaServed(number: 3), within: .seconds(1))
        }
        await MainActor.run {}
        withExtendedLifetime((cup, subscriptions)) {}
    }

    @Test(.timeLimit(.minutes(1))) func aNullPublishersSequenceEndsWithThePublisher() async throws {
        // A sequence keeps its publisher, and an iterator does not.
        var events = { EventPublisher.null().events(of: TeaServed.self).makeAsyncIterator() }()
        #expect(try await events.next() == nil)
        #expect(!Task.isCancelled, "the time limit ended the sequence")
    }

    @Test func aMockAlsoRecordsIt() async throws {
        let mock = EventRecorder()
        let subscriptions = subscribe(to: mock.publisher)
        mock.publisher.publish(TeaServed(number: 1))
        try await mock.publisher.send(TeaOrdered(number: 2))
        try await mock.publisher.deliver(TeaServed(number: 3), within: .seconds(1))
        #expect(mock.names == ["TeaServed", "TeaOrdered", "TeaServed"])
        #expect(try await mock.next(TeaOrdered.self) == TeaOrdered(number: 2))
        await MainActor.run {}
        withExtendedLifetime(subscriptions) {}
    }

    @Test func aMockMayStandInForTheSharedPublisher() {
        let mock = EventRecorder()
        EventPublisher.withShared(mock.publisher) { EventPublisher.shared.publish(TeaServed(number: 1)) }
        #expect(mock.names == ["TeaServed"])
    }
}
