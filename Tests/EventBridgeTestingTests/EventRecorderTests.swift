import DomainEvents
import EventBridgeTesting
import Testing

private struct Provisioned: DomainEvent, Equatable { let number: Int }
private struct Removed: DomainEvent, Equatable { let number: Int }
private struct Never: DomainEvent {}

@Suite("A recorder keeps every event, in order", .timeLimit(.minutes(5)))
struct EventRecorderTests {
    private let publisher = EventPublisher()

    @Test func ofAllItsTypes() {
        let recorder = EventRecorder(publisher, for: Provisioned.self, Removed.self)
        publisher.publish(Provisioned(number: 1))
        publisher.publish(Removed(number: 2))
        publisher.publish(Never())
        publisher.publish(Provisioned(number: 3))
        #expect(recorder.events(Provisioned.self).map(\.number) == [1, 3])
        #expect(recorder.events(Removed.self).map(\.number) == [2])
        #expect(recorder.all.map { String(describing: type(of: $0)) } == ["Provisioned", "Removed", "Provisioned"])
    }

    @Test func alsoOfTypesThatAreAddedLaterAndOnceEach() {
        let recorder = EventRecorder(publisher, for: Never.self)
        publisher.publish(Removed(number: 1))
        recorder.record(Removed.self, Provisioned.self)
        recorder.record(Removed.self)
        publisher.publish(Removed(number: 2))
        #expect(recorder.events(Removed.self) == [Removed(number: 2)])
    }

    @Test(.timeLimit(.minutes(1))) func andHandsOutHoweverMany() async throws {
        // If each call searched all earlier events, this would take minutes.
        let recorder = EventRecorder(publisher, for: Provisioned.self, Removed.self)
        publisher.publish(Removed(number: 0))
        for number in 0..<60_000 { publisher.publish(Provisioned(number: number)) }
        for number in 0..<60_000 {
            let next = try await recorder.next(Provisioned.self).number
            guard next == number else {
                Issue.record("\(next) came for \(number)")
                break
            }
        }
    }

    @Test func andHandsThemOutOneAfterTheOther() async throws {
        let recorder = EventRecorder(publisher, for: Provisioned.self, Removed.self)
        for number in 1...2 {
            publisher.publish(Removed(number: -number))
            publisher.publish(Provisioned(number: number))
        }
        #expect(try await recorder.next(Provisioned.self).number == 1)
        #expect(try await recorder.next(Provisioned.self).number == 2)
        #expect(try await recorder.next(Removed.self).number == -1)
        #expect(recorder.all.count == 4)
    }

    @Test func alsoToThoseWhoWaitedBefore() async throws {
        let recorder = EventRecorder(publisher, for: Provisioned.self, Removed.self)
        for number in 0..<100 {
            async let removed = recorder.next(Removed.self)
            async let provisioned = recorder.next(Provisioned.self)
            await Task.yield()
            publisher.publish(Provisioned(number: number))
            publisher.publish(Removed(number: number))
            #expect(try await provisioned.number == number)
            #expect(try await removed.number == number)
        }
    }

    @Test func untilItIsReleased() {
        weak var released: EventRecorder?
        do {
            let recorder = EventRecorder(publisher, for: Provisioned.self)
            released = recorder
            #expect(publisher.isWanted("Provisioned"))
            withExtendedLifetime(recorder) {}
        }
        #expect(released == nil)
        #expect(!publisher.isWanted("Provisioned"))
    }
}

@Suite("A recorder says why it has no event", .timeLimit(.minutes(5)))
struct EventRecorderFailureTests {
    private let publisher = EventPublisher()

    @Test func listingWhatItHasRecordedInstead() async throws {
        let recorder = EventRecorder(publisher, for: Provisioned.self, Removed.self)
        publisher.publish(Removed(number: 1))
        publisher.publish(Provisioned(number: 2))
        try await recorder.next(Provisioned.self)
        let error = await #expect(throws: EventNotRecorded.self) {
            try await recorder.next(Provisioned.self, within: .milliseconds(1))
        }
        #expect(error?.event == "Provisioned")
        #expect(error?.recorded.count == 2)
        #expect(
            error?.description == """
                no Provisioned was published within 0.001 seconds; recorded instead:
                  1. Removed(number: 1)
                  2. Provisioned(number: 2) (returned before)
                """
        )
    }

    @Test func listingTheLatestOfMany() async throws {
        let recorder = EventRecorder(publisher, for: Provisioned.self, Removed.self)
        for number in 1...30 { publisher.publish(Removed(number: number)) }
        let error = await #expect(throws: EventNotRecorded.self) {
            try await recorder.next(Provisioned.self, within: .zero)
        }
        let lines = error?.description.split(separator: "\n") ?? []
        #expect(lines.count == 22)
        #expect(lines.dropFirst().first == "  (10 earlier events)")
        #expect(lines.last == "  30. Removed(number: 30)")
    }

    @Test func whenNothingWasRecorded() async {
        let recorder = EventRecorder(publisher, for: Provisioned.self)
        let error = await #expect(throws: EventNotRecorded.self) {
            try await recorder.next(Provisioned.self, within: .zero)
        }
        #expect(error?.description == "no Provisioned was published within 0.0 seconds; nothing was recorded")
    }

    @Test func whenItsTypeIsNotRecorded() async {
        let recorder = EventRecorder(publisher, for: Provisioned.self)
        let error = await #expect(throws: EventNotRecorded.self) { try await recorder.next(Never.self) }
        #expect(
            error?.description
                == "Never is not among the types that this recorder was made for; nothing was recorded"
        )
    }

    @Test func andAWaitThatIsCancelledThrowsThatAndTakesNothing() async throws {
        let recorder = EventRecorder(publisher, for: Provisioned.self)
        for round in 0..<100 {
            let waiting = Task { try await recorder.next(Provisioned.self) }
            for _ in 0..<(round % 3) { await Task.yield() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        publisher.publish(Provisioned(number: 1))
        #expect(try await recorder.next(Provisioned.self).number == 1)
    }
}
