import Testing

@testable import NATSGateway

/// How a reader goes on if its host keeps places, but may have kept none in this stream.
@Suite struct ImportKeepingTests {
    /// A reader whose host has kept no place, after its first look.
    private func withoutPlace(_ look: ImportLook) throws -> ImportTrial {
        var trial = try ImportTrial(keepsPlaces: true)
        trial.handle(.connected)
        trial.handle(.looked(look))
        trial.handle(.consumerMade)
        return trial
    }

    @Test func consumersSayWhereTheFirstOfThemBeganUntilTheHostHasHadTimeToKeepAPlace() throws {
        var trial = try withoutPlace(ImportLook(created: 5, first: 1, last: 20, consumers: [1], floor: 3))
        #expect(trial.made.map(\.start) == [4] && trial.unkept == [3])
        for number: UInt64 in 4...6 { trial.arrive(number, delivery: number - 3) }
        // An event that the host refuses leaves no place in the host.
        trial.handle(.settled(sequence: 4, refusal: "too large"))
        #expect(trial.awaited.isEmpty)
        trial.settle(5, 6)
        #expect(trial.awaited == [5])
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 5, first: 1, last: 20, consumers: [2], floor: 6, unkept: 3)))
        trial.handle(.consumerMade)
        #expect(trial.made.map(\.start) == [4, 7] && trial.unkept == [3, 3])
        trial.handle(.placeKept(created: 4))
        #expect(trial.looks == 2)
        trial.handle(.placeKept(created: 5))
        #expect(trial.looks == 3)
        trial.handle(.looked(ImportLook(created: 5, first: 1, last: 20, consumers: [3], floor: 6, unkept: 3)))
        trial.handle(.consumerMade)
        #expect(trial.made.map(\.start) == [4, 7, 7] && trial.unkept == [3, 3, nil])
        trial.arrive(7, delivery: 1)
        trial.settle(7)
        #expect(trial.awaited == [5] && trial.repeats.isEmpty && trial.said.count == 1)
    }

    @Test func consumerThatIsBeingMadeWhenAPlaceIsKeptIsReplacedLater() throws {
        var trial = try withoutPlace(ImportLook(created: 5, first: 1, last: 20))
        trial.arrive(1, delivery: 1)
        trial.settle(1)
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 5, first: 1, last: 20, consumers: [1], floor: 1, unkept: 0)))
        trial.handle(.placeKept(created: 5))
        trial.handle(.consumerMade)
        #expect(trial.looks == 2 && trial.awaited == [5, 5] && trial.unkept == [0, 0])
        trial.handle(.placeKept(created: 5))
        trial.handle(.looked(ImportLook(created: 5, first: 1, last: 20, consumers: [2], floor: 1, unkept: 0)))
        #expect(trial.looks == 3 && trial.unkept == [0, 0, nil])
    }

    @Test func readerThatBeginsAndFindsNoPlaceKeptReadsFromThereAndMarksRepeats() throws {
        var trial = try withoutPlace(
            ImportLook(created: 5, first: 1, last: 20, consumers: [7], floor: 6, delivered: 6, unkept: 3)
        )
        #expect(trial.made.map(\.start) == [4] && trial.unkept == [3])
        #expect(trial.said == ["the host has kept no place in the stream: it is read again from message 4 on"])
        for number: UInt64 in 4...7 { trial.arrive(number, delivery: number - 3) }
        #expect(trial.repeats == [4, 5, 6])
    }

    @Test func repeatsAreMarkedUpToTheFloorThoughTheNewestConsumerHasBroughtNothing() throws {
        var trial = try withoutPlace(ImportLook(created: 5, first: 1, last: 20, consumers: [8], floor: 6, unkept: 3))
        for number: UInt64 in 4...7 { trial.arrive(number, delivery: number - 3) }
        #expect(trial.repeats == [4, 5, 6])
    }

    @Test func consumerCannotSendTheReaderBeyondTheFloor() throws {
        let trial = try withoutPlace(ImportLook(created: 5, first: 1, last: 20, consumers: [8], floor: 6, unkept: 15))
        #expect(trial.made.map(\.start) == [7] && trial.unkept == [6])
    }

    /// - Parameters:
    ///   - known: the place that the host has kept.
    ///   - isOvertaken: whether the reader replaces a running one.
    ///   - look: what the reader finds.
    ///   - start: where the reader begins.
    ///   - unkept: what the reader's consumer says.
    @Test(
        arguments: [
            (7, false, ImportLook(created: 5, first: 1, last: 20, consumers: [1], floor: 9, unkept: 3), 8, nil),
            (7, true, ImportLook(created: 5, first: 1, last: 20, consumers: [1], floor: 9, unkept: nil), 10, nil),
            (7, true, ImportLook(created: 5, first: 1, last: 20, consumers: [1], floor: 9, unkept: 3), 10, 3),
            // The replaced gateway did not read this stream.
            (nil, true, ImportLook(created: 5, first: 1, last: 20), 1, 0),
            (7, false, ImportLook(created: 6, first: 1, last: 20, consumers: [1], floor: 9, unkept: 3), 4, 3),
            (7, false, ImportLook(created: 6, first: 1, last: 20, consumers: [1], floor: 9, unkept: nil), 10, 9),
        ] as [(UInt64?, Bool, ImportLook, UInt64, UInt64?)]
    )
    func placeOfTheHostAndReplacementDecideWhatTheConsumerSays(
        _ known: UInt64?,
        _ isOvertaken: Bool,
        _ look: ImportLook,
        _ start: UInt64,
        _ unkept: UInt64?
    ) throws {
        var trial = try ImportTrial(keepsPlaces: true, known: known.map { .init(created: 5, sequence: $0) })
        if isOvertaken { trial.handle(.overtaken) }
        trial.handle(.connected)
        trial.handle(.looked(look))
        #expect(trial.made.map(\.start) == [start] && trial.unkept == [unkept])
    }

    @Test func otherStreamHasNoPlaceKept() throws {
        var trial = try ImportTrial(keepsPlaces: true, known: .init(created: 1, sequence: 3))
        trial.handle(.connected)
        trial.handle(.looked(ImportLook(created: 1, first: 1, last: 20, consumers: [1], floor: 3)))
        trial.handle(.consumerMade)
        trial.arrive(4, delivery: 1)
        trial.settle(4)
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 2, first: 1, last: 1, identity: "new")))
        trial.handle(.consumerMade)
        #expect(trial.made.map(\.start) == [4, 1] && trial.unkept == [nil, 0])
        trial.arrive(1, delivery: 1, identity: "new")
        trial.settle(1)
        #expect(trial.awaited == [2])
    }

    @Test func hostWithoutPlacesChangesNothing() throws {
        var trial = try ImportTrial.reading(
            ImportLook(created: 1, first: 1, last: 9, consumers: [1], floor: 5, unkept: 2)
        )
        #expect(trial.made.map(\.start) == [6] && trial.unkept == [nil])
        trial.arrive(6, delivery: 1)
        trial.settle(6)
        #expect(trial.awaited.isEmpty)
    }
}
