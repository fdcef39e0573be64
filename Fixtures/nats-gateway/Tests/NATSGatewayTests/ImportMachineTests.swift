import Testing

@testable import NATSGateway

@Suite struct ImportMachineTests {
    @Test func readingBeginsBehindTheFloorWithANewConsumer() throws {
        let trial = try ImportTrial.reading(ImportLook(created: 1, first: 1, last: 100, consumers: [3, 2], floor: 41))
        #expect(trial.made.map(\.number) == [4])
        #expect(trial.made.map(\.start) == [42])
        #expect(trial.made.first?.removing == [3, 2])
        #expect(trial.said.isEmpty)
    }

    @Test func messageIsAcknowledgedWhenTheHostHasItAndAllBefore() throws {
        var trial = try ImportTrial.reading()
        for number: UInt64 in 1...3 { trial.arrive(number, delivery: number) }
        #expect(trial.published == [1, 2, 3])
        trial.settle(2)
        #expect(trial.acknowledged.isEmpty)
        trial.settle(1)
        #expect(trial.acknowledged == ["2"])
        trial.settle(3)
        #expect(trial.acknowledged == ["2", "3"])
    }

    @Test func unwantedAndUndecodableWaitForTheirTurn() throws {
        var trial = try ImportTrial.reading()
        trial.arrive(1, delivery: 1)
        trial.arrive(2, delivery: 2, .unwanted)
        trial.arrive(3, delivery: 3, .undecodable("no identity"))
        trial.arrive(4, delivery: 4, .unwanted)
        #expect(trial.terminated.isEmpty && trial.acknowledged.isEmpty)
        trial.settle(1)
        #expect(trial.terminated == ["3"])
        #expect(trial.acknowledged == ["4"])
        #expect(trial.said == ["message 3 is given up: no identity"])
    }

    @Test func eventThatTheHostNeverTakesIsGivenUp() throws {
        var trial = try ImportTrial.reading()
        trial.arrive(1, delivery: 1)
        trial.handle(.settled(sequence: 1, refusal: "no CBOR"))
        #expect(trial.terminated == ["1"])
        #expect(trial.said == ["message 1 is given up: no CBOR"])
    }

    @Test func reconnectionWaitsForTheHostAndGoesOnBehindWhatItHas() throws {
        var trial = try ImportTrial.reading()
        trial.arrive(1, delivery: 1)
        trial.arrive(2, delivery: 2)
        trial.handle(.disconnected)
        trial.handle(.connected)
        #expect(trial.looks == 1)
        trial.settle(1, 2)
        #expect(trial.looks == 2)
        // The acknowledgements did not reach the broker.
        trial.handle(.looked(ImportLook(created: 1, first: 1, last: 100, consumers: [1], floor: 0)))
        #expect(trial.made.last?.start == 3)
        #expect(trial.made.last?.number == 2)
        // What the old consumer still sends is not handled again.
        trial.arrive(2, delivery: 1, consumer: 1)
        #expect(trial.published == [1, 2])
    }

    @Test(arguments: [(2, 2), (1, 3), (1, 1)] as [(UInt64, UInt64)])
    func gapOrRepeatInTheConsumersCountIsReadAgain(_ sequence: UInt64, _ delivery: UInt64) throws {
        var trial = try ImportTrial.reading()
        trial.arrive(1, delivery: 1)
        trial.settle(1)
        if sequence == 2 { trial.arrive(3, delivery: 3) } else { trial.arrive(sequence, delivery: delivery) }
        #expect(trial.looks == 2)
        #expect(trial.published == [1])
    }

    @Test func heartbeatShowsAMessageThatGotLost() throws {
        var trial = try ImportTrial.reading()
        trial.handle(.heartbeat(deliveries: 0))
        #expect(trial.looks == 1 && trial.isTimed)
        trial.handle(.heartbeat(deliveries: 1))
        #expect(trial.looks == 2)
    }

    @Test func silenceIsFollowedByALook() throws {
        var trial = try ImportTrial.reading()
        trial.handle(.timeOver)
        #expect(trial.looks == 2)
    }

    @Test func missingStreamIsWaitedForAndSaidOnce() throws {
        var trial = try ImportTrial()
        trial.handle(.connected)
        for _ in 1...3 {
            trial.handle(.lookFailed("no stream"))
            #expect(trial.isTimed)
            trial.handle(.timeOver)
        }
        #expect(trial.said == ["no events are read, because no stream"])
        trial.handle(.looked(ImportLook(created: 1, first: 0, last: 0)))
        trial.handle(.consumerNotMade("not now"))
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 1, first: 0, last: 0)))
        trial.handle(.consumerMade)
        #expect(trial.said.last == "events are read again (not now)")
        #expect(trial.made.map(\.start) == [1, 1])
    }

    @Test func messageMayComeBeforeTheAnswerThatThereIsAConsumer() throws {
        var trial = try ImportTrial()
        trial.handle(.connected)
        trial.handle(.looked(ImportLook(created: 1, first: 1, last: 1)))
        trial.arrive(1, delivery: 1)
        trial.handle(.consumerMade)
        trial.arrive(2, delivery: 2)
        #expect(trial.published == [1, 2])
        #expect(trial.looks == 1)
    }

    @Test func anotherStreamIsReadFromItsBeginningAndSaid() throws {
        var trial = try ImportTrial.reading()
        trial.arrive(1, delivery: 1)
        trial.settle(1)
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 2, first: 1, last: 7)))
        #expect(trial.made.last?.start == 1)
        #expect(trial.said.count == 1)
    }

    /// A reader that has read five messages, and looks again.
    private func fiveRead(_ look: ImportLook) throws -> ImportTrial {
        var trial = try ImportTrial.reading()
        for number: UInt64 in 1...5 { trial.arrive(number, delivery: number) }
        trial.settle(1, 2, 3, 4, 5)
        trial.handle(.timeOver)
        #expect(trial.lookedAt == 5)
        trial.handle(.looked(look))
        return trial
    }

    @Test func streamThatWentBackIsReadBehindTheLastMessageThatIsStillThere() throws {
        var trial = try fiveRead(ImportLook(created: 1, first: 1, last: 3, consumers: [1], floor: 2))
        #expect(trial.identified == [3])
        trial.handle(.identified("e3"))
        #expect(trial.made.last?.start == 4)
        #expect(trial.said == ["the stream went back from message 5 to 3: it is read from message 4 on"])
    }

    @Test func streamThatWentBackAndGrewAgainIsReadBehindTheLastMessageThatIsStillThere() throws {
        var trial = try fiveRead(ImportLook(created: 1, first: 1, last: 80, consumers: [1], floor: 5, identity: "new"))
        trial.handle(.identified("e3"))
        trial.handle(.identified("new"))
        trial.handle(.identified("new"))
        #expect(trial.identified == [3, 5, 4])
        #expect(trial.made.last?.start == 4)
        #expect(
            trial.said == ["the stream went back and has grown again up to message 80: it is read from message 4 on"]
        )
        // A new event is no repeat; an event that the stream has lost may have been sent again.
        trial.handle(.consumerMade)
        trial.arrive(4, delivery: 1, identity: "new")
        #expect(trial.published.last == 4 && trial.repeats.isEmpty)
        trial.arrive(5, delivery: 2, identity: "e4")
        #expect(trial.repeats == [5])
    }

    @Test(arguments: [1, 9] as [Int64]) func otherTimeOfTheSameStreamIsLookedAtTwice(_ created: Int64) throws {
        var look = ImportLook(created: 9, first: 1, last: 80, consumers: [1], floor: 5, identity: "e5")
        var trial = try fiveRead(look)
        #expect(trial.made.count == 1 && trial.isTimed)
        trial.handle(.timeOver)
        look.created = created
        trial.handle(.looked(look))
        #expect(trial.made.last?.start == 6)
        #expect(trial.said.isEmpty)
    }

    @Test func otherTimeIsNoProofThatPlacesHaveNewEvents() throws {
        var trial = try ImportTrial.reading(ImportLook(created: 1, first: 1, last: 100, floor: 1, delivered: 3))
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 9, first: 1, last: 100, floor: 1, delivered: 3)))
        trial.handle(.consumerMade)
        for number: UInt64 in 1...4 { trial.arrive(number, delivery: number) }
        #expect(trial.repeats == [1, 2, 3])
    }

    @Test func newEventsAtThePlacesOfLostOnesAreNoRepeats() throws {
        let first = ImportLook(created: 1, first: 1, last: 100, floor: 0, delivered: 3)
        for (look, identified, place) in [
            (ImportLook(created: 2, first: 1, last: 7, identity: "new"), [], 1),
            (ImportLook(created: 1, first: 1, last: 2), ["new", "e1"], 2),
        ] as [(ImportLook, [String], UInt64)] {
            var trial = try ImportTrial.reading(first)
            for number: UInt64 in 1...3 { trial.arrive(number, delivery: number) }
            trial.settle(1, 2, 3)
            #expect(trial.repeats == [1, 2, 3])
            trial.handle(.timeOver)
            trial.handle(.looked(look))
            for identity in identified { trial.handle(.identified(identity)) }
            #expect(trial.made.last?.start == place)
            trial.handle(.consumerMade)
            trial.arrive(place, delivery: 1, identity: "new")
            #expect(trial.published.last == place && trial.repeats == [1, 2, 3])
        }
    }

    @Test func manyLossesForgetTheEarliestAtLast() throws {
        let count = UInt64(2 * ImportMachine<String>.rememberedMessages)
        var trial = try ImportTrial.reading(ImportLook(created: 1, first: 1, last: count))
        for number in 1...count {
            trial.arrive(number, delivery: number)
            trial.settle(number)
        }
        for created in 2...4 as ClosedRange<Int64> {
            trial.handle(.timeOver)
            trial.handle(.looked(ImportLook(created: created, first: 1, last: 1, identity: "new")))
            trial.handle(.consumerMade)
            trial.arrive(1, delivery: 1, identity: "of stream \(created)")
            trial.settle(1)
        }
        #expect(trial.repeats.isEmpty)
        trial.arrive(2, delivery: 2, identity: "e\(count)")
        #expect(trial.repeats == [2])
    }

    @Test func eventOfALostStreamThatIsSentAgainMayBeARepeat() throws {
        var trial = try fiveRead(ImportLook(created: 2, first: 1, last: 2))
        trial.handle(.consumerMade)
        trial.arrive(1, delivery: 1, identity: "new")
        trial.arrive(2, delivery: 2, identity: "e5")
        #expect(trial.published.suffix(2) == [1, 2])
        #expect(trial.repeats == [2])
    }

    @Test func streamWithoutAnyOfTheMessagesIsReadFromItsBeginning() throws {
        var trial = try fiveRead(ImportLook(created: 1, first: 1, last: 80, consumers: [1], floor: 5, identity: "new"))
        while trial.made.count == 1 { trial.handle(.identified("new")) }
        #expect(trial.made.last?.start == 1)
        trial.handle(.consumerMade)
        for number: UInt64 in 1...6 { trial.arrive(number, delivery: number) }
        #expect(trial.repeats == [1, 2, 3, 4, 5])
    }

    @Test(arguments: ["e5", nil] as [String?])
    func messageThatIsThereOrWasRemovedNeedsNoSearch(_ identity: String?) throws {
        let trial = try fiveRead(
            ImportLook(created: 1, first: 1, last: 80, consumers: [1], floor: 5, identity: identity)
        )
        #expect(trial.identified.isEmpty && trial.said.isEmpty)
        #expect(trial.made.last?.start == 6)
    }

    @Test func searchThatFailsIsFollowedByALook() throws {
        var trial = try fiveRead(ImportLook(created: 1, first: 1, last: 80, consumers: [1], floor: 5, identity: "new"))
        trial.handle(.lookFailed("time-out"))
        #expect(trial.made.count == 1 && trial.isTimed)
        trial.handle(.timeOver)
        #expect(trial.looks == 3)
    }

    @Test func searchIsAsShortAsThereAreMessages() throws {
        var trial = try ImportTrial.reading(ImportLook(created: 1, first: 1, last: 10_000))
        for number: UInt64 in 1...9_000 {
            trial.arrive(number, delivery: number)
            trial.settle(number)
        }
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 1, first: 1, last: 10_000, consumers: [1], floor: 1, identity: "x")))
        while trial.made.count == 1 {
            let sequence = try #require(trial.identified.last)
            trial.handle(.identified(sequence <= 8_500 ? "e\(sequence)" : "x"))
        }
        #expect(trial.made.last?.start == 8_501)
        #expect(trial.identified.count <= 12)
    }

    @Test func readerThatBeginsAndIsBeyondTheEndReadsFromThere() throws {
        let trial = try ImportTrial.reading(ImportLook(created: 1, first: 1, last: 3, consumers: [1], floor: 5))
        #expect(trial.made.last?.start == 4)
        #expect(trial.said == ["the stream went back from message 5 to 3"])
    }

    @Test func whatAnEarlierProcessWasSentMayBeARepeat() throws {
        var trial = try ImportTrial.reading(
            ImportLook(created: 1, first: 1, last: 100, consumers: [3], floor: 41, delivered: 43)
        )
        for number: UInt64 in 42...45 { trial.arrive(number, delivery: number - 41) }
        #expect(trial.published == [42, 43, 44, 45])
        #expect(trial.repeats == [42, 43])
    }

    @Test func messagesThatWereRemovedUnreadAreSaid() throws {
        let trial = try ImportTrial.reading(ImportLook(created: 1, first: 50, last: 100, consumers: [1], floor: 41))
        #expect(trial.said == ["messages 42 to 49 were removed before they were read"])
    }

    @Test func anotherReaderOfThisNodeEndsTheGateway() throws {
        var trial = try ImportTrial.reading()
        trial.handle(.timeOver)
        trial.handle(.looked(ImportLook(created: 1, first: 1, last: 100, consumers: [1, 2], floor: 0)))
        #expect(trial.ended != nil)
        trial.handle(.connected)
        #expect(trial.looks == 2)
    }

    @Test func placeThatTheHostKnowsCountsForTheSameStreamWhateverTheBrokerThinks() throws {
        for (known, floor, start) in [(7, 3, 8), (7, 9, 8), (0, 9, 1)] as [(UInt64, UInt64, UInt64)] {
            var trial = try ImportTrial(known: .init(created: 5, sequence: known))
            trial.handle(.connected)
            trial.handle(.looked(ImportLook(created: 5, first: 1, last: 20, floor: floor)))
            #expect(trial.made.map(\.start) == [start])
        }
        var trial = try ImportTrial(known: .init(created: 5, sequence: 7))
        trial.handle(.connected)
        trial.handle(.looked(ImportLook(created: 6, first: 1, last: 20, floor: 3)))
        #expect(trial.made.map(\.start) == [4])
        // Another process has read on meanwhile, and the broker knows how far.
        trial = try ImportTrial(known: .init(created: 5, sequence: 7))
        trial.handle(.overtaken)
        trial.handle(.connected)
        trial.handle(.looked(ImportLook(created: 5, first: 1, last: 20, floor: 15)))
        #expect(trial.made.map(\.start) == [16])
        // The stream was put back to an earlier state.
        trial = try ImportTrial(known: .init(created: 5, sequence: 7))
        trial.handle(.connected)
        trial.handle(.looked(ImportLook(created: 5, first: 1, last: 4, floor: 4)))
        #expect(trial.made.map(\.start) == [5])
        #expect(trial.said == ["the stream went back from message 7 to 4"])
    }
}
