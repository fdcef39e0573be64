import Testing

@testable import NATSGateway

/// Tests the machine against a broker that is a value, too.
@Suite struct ExportMachineTests {
    /// What became of the events, and what the machine asked for last.
    private struct Trial {
        var machine: ExportMachine<String>
        var acknowledged: [String] = []
        var refused: [String] = []
        var sent: [(event: String, ExportMachine<String>.Predecessor, round: UInt64, number: UInt64)] = []
        /// The messages that were sent when the broker had answered all earlier ones.
        var first: [String] = []
        var asked = 0
        var withRecent = false
        var isTimed = false
        var timer = Duration.zero
        var said: [String] = []
        var ended: String?

        init(window: Int = 4) { machine = ExportMachine(window: window) }

        mutating func handle(_ input: ExportMachine<String>.Input) {
            for action in machine.handle(input) {
                switch action {
                case .askForTail(let withRecent):
                    asked += 1
                    self.withRecent = withRecent
                case .publish(let event, let predecessor, let round, let number, let isFirst):
                    sent.append((event, predecessor, round, number))
                    if isFirst { first.append(event) }
                case .acknowledge(let event): acknowledged.append(event)
                case .refuse(let event, _): refused.append(event)
                case .startTimer(let duration):
                    isTimed = true
                    timer = duration
                case .stopTimer: isTimed = false
                case .report(let text): said.append(text)
                case .end(let reason): ended = reason
                }
            }
        }

        mutating func arrive(_ ids: String..., isRepeat: Bool = false) {
            for id in ids { handle(.eventArrived(id: id, isRepeat: isRepeat, id)) }
        }

        /// Answers the message that was sent last with this event.
        mutating func answer(_ event: String, _ answer: PublishAnswer) {
            guard let message = sent.last(where: { $0.event == event }) else {
                Issue.record("\(event) was not sent")
                return
            }
            handle(.answered(round: message.round, number: message.number, answer))
        }

        /// A trial that is connected and has looked at a stream.
        static func begun(_ tail: Tail = Tail(created: 1, sequence: 0), window: Int = 4) -> Trial {
            var trial = Trial(window: window)
            trial.handle(.connected)
            trial.handle(.tailLearned(tail))
            return trial
        }
    }

    @Test func messageIsFirstIfTheBrokerHasAnsweredAllBefore() {
        var trial = Trial.begun()
        trial.arrive("a", "b")
        trial.answer("a", .stored)
        trial.arrive("c")
        trial.answer("c", .stored)
        trial.arrive("d")
        #expect(trial.sent.map(\.event) == ["a", "b", "c", "d"])
        #expect(trial.first == ["a", "d"])
    }

    @Test func windowIsFilledAndEachFollowsTheOneBefore() {
        var trial = Trial.begun(Tail(created: 1, sequence: 9, last: "z"))
        trial.arrive("a", "b", "c", "d", "e")
        #expect(trial.sent.map(\.event) == ["a", "b", "c", "d"])
        #expect(
            trial.sent.map(\.1) == [
                .init(sequence: 9), .init(sequence: 10, identity: "a"), .init(sequence: 11, identity: "b"),
                .init(sequence: 12, identity: "c"),
            ]
        )
        trial.answer("a", .stored)
        #expect(trial.acknowledged == ["a"])
        #expect(trial.sent.last?.event == "e")
    }

    @Test func answerCountsForAllBefore() {
        var trial = Trial.begun()
        trial.arrive("a", "b", "c")
        trial.answer("c", .stored)
        #expect(trial.acknowledged == ["a", "b", "c"])
        #expect(!trial.isTimed)
    }

    @Test func answerOfAnEarlierRoundSaysNothing() {
        var trial = Trial.begun()
        trial.arrive("a")
        let old = trial.sent[0]
        trial.handle(.disconnected)
        trial.handle(.connected)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 0)))
        trial.handle(.answered(round: old.round, number: old.number, .stored))
        #expect(trial.acknowledged.isEmpty)
        trial.handle(.answered(round: old.round + 1, number: 77, .stored))
        #expect(trial.acknowledged.isEmpty)
    }

    @Test(arguments: 0...3) func reconnectionSendsAgainWhatTheStreamHasNot(_ stored: Int) {
        var trial = Trial.begun()
        trial.arrive("a", "b", "c")
        trial.handle(.disconnected)
        trial.handle(.connected)
        let ids = ["a", "b", "c"]
        trial.sent = []
        trial.handle(
            .tailLearned(Tail(created: 1, sequence: UInt64(stored), last: stored == 0 ? nil : ids[stored - 1]))
        )
        #expect(trial.acknowledged == Array(ids.prefix(stored)))
        #expect(trial.sent.map(\.event) == Array(ids.dropFirst(stored)))
        #expect(trial.sent.first?.1 == (stored == 3 ? nil : .init(sequence: UInt64(stored))))
    }

    @Test func silenceIsFollowedByALook() {
        var trial = Trial.begun()
        trial.arrive("a")
        #expect(trial.isTimed)
        trial.handle(.timeOver)
        #expect(trial.asked == 2)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 1, last: "a")))
        #expect(trial.acknowledged == ["a"])
    }

    @Test func messageNotInTurnIsExplainedByALateOneOfItsOwn() {
        var trial = Trial.begun()
        trial.arrive("a")
        trial.answer("a", .notInTurn)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 1, last: "a")))
        #expect(trial.acknowledged == ["a"])
        #expect(trial.ended == nil)
    }

    @Test(arguments: [
        Tail(created: 1, sequence: 2, last: "x"), Tail(created: 1, sequence: 2, last: ""),
        Tail(created: 1, sequence: 3, last: "a"),
        Tail(created: 1, sequence: 6, last: nil), Tail(created: 1, sequence: 1, last: "x"),
    ])
    func anotherWriterEndsTheGateway(_ tail: Tail) {
        var trial = Trial.begun()
        trial.arrive("own")
        trial.answer("own", .stored)
        trial.arrive("a")
        trial.answer("a", .notInTurn)
        trial.handle(.tailLearned(tail))
        #expect(trial.ended != nil)
        trial.arrive("b")
        trial.handle(.connected)
        #expect(trial.acknowledged == ["own"])
        #expect(trial.sent.count == 2)
    }

    @Test func messagesOfAKilledProcessThatComeLateAreLookedAtAnew() {
        var trial = Trial.begun(Tail(created: 1, sequence: 5, last: "e"))
        trial.arrive("f", isRepeat: true)
        trial.answer("f", .notInTurn)
        // The killed process has sent both f and g; the host has not given g again yet.
        trial.handle(.tailLearned(Tail(created: 1, sequence: 7, last: "g")))
        #expect(trial.ended == nil && trial.withRecent)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 7, last: "g", recent: ["e", "f", "g"])))
        #expect(trial.acknowledged == ["f"])
        trial.arrive("g", isRepeat: true)
        trial.arrive("h")
        trial.answer("h", .stored)
        #expect(trial.acknowledged == ["f", "g", "h"])
        // From now on no earlier process can write.
        trial.arrive("i")
        trial.answer("i", .notInTurn)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 9, last: "x")))
        #expect(trial.ended != nil)
    }

    @Test func fullStreamIsTriedWithOneMessageUntilThereIsRoom() {
        var trial = Trial.begun()
        trial.arrive("a", "b", "c")
        trial.answer("a", .notNow("full"))
        trial.answer("b", .notInTurn)
        #expect(trial.acknowledged.isEmpty)
        #expect(trial.said == ["events wait, because full"])
        for _ in 1...3 {
            #expect(trial.isTimed)
            trial.handle(.timeOver)
            trial.sent = []
            trial.handle(.tailLearned(Tail(created: 1, sequence: 0)))
            #expect(trial.sent.map(\.event) == ["a"])
            trial.answer("a", .notNow("full"))
        }
        #expect(trial.said.count == 1)
        trial.handle(.timeOver)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 0)))
        trial.answer("a", .stored)
        #expect(trial.acknowledged == ["a"])
        #expect(trial.sent.suffix(2).map(\.event) == ["b", "c"])
        #expect(trial.said.last == "events are stored again (full)")
    }

    @Test func anHourWithoutABrokerLosesNothingAndIsSaidOnce() {
        var trial = Trial.begun(window: 256)
        trial.handle(.disconnected)
        // A host gives at most this many events to a gateway that acknowledges nothing.
        let ids = (1...4_096).map { "e\($0)" }
        for id in ids { trial.handle(.eventArrived(id: id, isRepeat: false, id)) }
        trial.handle(.connected)
        var away = Duration.zero
        while away < .seconds(3_600) {
            trial.handle(.tailUnknown("no broker"))
            away += trial.timer
            trial.handle(.timeOver)
        }
        #expect(trial.sent.isEmpty && trial.acknowledged.isEmpty)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 0)))
        for id in ids { trial.answer(id, .stored) }
        #expect(trial.acknowledged == ids)
        #expect(trial.said == ["events wait, because no broker", "events are stored again (no broker)"])
    }

    @Test func eventThatIsTooLargeIsRefusedAloneAndTheOthersGoOn() {
        var trial = Trial.begun()
        trial.arrive("a", "large", "b")
        trial.answer("large", .impossible("too large"))
        #expect(trial.refused.isEmpty)
        trial.handle(.timeOver)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 1, last: "a")))
        trial.answer("large", .impossible("too large"))
        #expect(trial.refused == ["large"])
        trial.handle(.tailLearned(Tail(created: 1, sequence: 1, last: "a")))
        trial.answer("b", .stored)
        #expect(trial.acknowledged == ["a", "b"])
    }

    @Test func beginningAcknowledgesRepeatsThatTheStreamHas() {
        var trial = Trial()
        trial.arrive("y", "z", isRepeat: true)
        trial.handle(.connected)
        #expect(trial.withRecent)
        trial.handle(.tailLearned(Tail(created: 1, sequence: 9, last: "z", recent: ["x", "y", "z"])))
        trial.arrive("x", "a", isRepeat: true)
        trial.arrive("b")
        #expect(trial.acknowledged == ["y", "z", "x"])
        #expect(trial.sent.map(\.event) == ["a", "b"])
    }

    @Test(arguments: [true, false]) func replayIsStoredAlthoughTheStreamHasTheEvent(isConnected: Bool) throws {
        let replays = (1...2).map { _ in
            ExportedEvent(id: "y", payload: [], isRepeat: true, isReplay: true) {
                EventHeaders(id: "y", source: "s", name: "Counted", path: [])
            } settle: { _ in
            }
        }
        let identities = replays.map(\.identity)
        #expect(Set(identities + ["y"]).count == 3)
        let tail = Tail(created: 1, sequence: 9, last: "z", recent: ["x", "y", "z"])
        var trial = isConnected ? Trial.begun(tail) : Trial()
        for identity in identities { trial.arrive(identity, isRepeat: true) }
        if !isConnected {
            trial.handle(.connected)
            trial.handle(.tailLearned(tail))
        }
        #expect(trial.sent.map(\.event) == identities)
        #expect(trial.acknowledged.isEmpty)
        trial.answer(identities[1], .stored)
        #expect(trial.acknowledged == identities)
    }

    @Test(arguments: [Tail(created: 1, sequence: 0), Tail(created: 2, sequence: 1, last: "x")])
    func streamThatWentBackIsSaidAndGoesOn(_ tail: Tail) {
        var trial = Trial.begun()
        trial.arrive("a", "b")
        trial.answer("a", .stored)
        trial.handle(.disconnected)
        trial.handle(.connected)
        trial.handle(.tailLearned(tail))
        #expect(trial.said.count == 1)
        #expect(trial.withRecent)
        trial.handle(.tailLearned(tail))
        #expect(trial.sent.last?.event == "b")
        #expect(trial.sent.last?.1 == .init(sequence: tail.sequence))
    }

    @Test func duplicateIsAcknowledgedAndLookedAt() {
        var trial = Trial.begun()
        trial.arrive("a", "b")
        trial.answer("a", .wasStored)
        #expect(trial.acknowledged == ["a"])
        trial.handle(.tailLearned(Tail(created: 1, sequence: 7, last: "x", recent: ["x"])))
        trial.answer("b", .stored)
        #expect(trial.acknowledged == ["a", "b"])
    }

    /// A seed decides what the broker stores and refuses, and which answers and connections get lost.
    @Test(arguments: 0..<300) func anyFaultsLeaveEachEventOnceInOrder(_ seed: UInt64) {
        var random = SeededGenerator(seed)
        var trial = Trial()
        var stream: [String] = []
        var answers: [ExportMachine<String>.Input] = []
        var handled = 0
        let ids = (0..<40).map { "e\($0)" }
        var next = 0
        var steps = 0
        while trial.acknowledged.count < ids.count, steps < 20_000 {
            steps += 1
            // What was sent since the last step is stored if it is in turn, unless it gets lost.
            while handled < trial.sent.count {
                let message = trial.sent[handled]
                handled += 1
                if random.next(below: 20) == 0 { continue }
                let isInTurn =
                    message.1.sequence == UInt64(stream.count)
                    && (message.1.identity == nil || message.1.identity == stream.last)
                var answer = PublishAnswer.notInTurn
                if random.next(below: 20) == 0 {
                    answer = .notNow("full")
                } else if isInTurn {
                    stream.append(message.event)
                    answer = .stored
                }
                answers.append(.answered(round: message.round, number: message.number, answer))
            }
            switch random.next(below: 12) {
            case 0...3 where next < ids.count:
                trial.arrive(ids[next])
                next += 1
            case 4...7 where !answers.isEmpty: trial.handle(answers.removeFirst())
            case 8 where random.next(below: 4) == 0:
                trial.handle(.disconnected)
                if random.next(below: 2) == 0 { answers = [] }
                trial.handle(.connected)
            case 9 where trial.isTimed: trial.handle(.timeOver)
            case 10: trial.handle(.tailUnknown("no answer"))
            case 11: trial.handle(.tailLearned(Tail(created: 1, sequence: UInt64(stream.count), last: stream.last)))
            default: if trial.asked == 0 { trial.handle(.connected) }
            }
        }
        #expect(stream == ids, "seed \(seed)")
        #expect(trial.acknowledged == ids, "seed \(seed)")
        #expect(trial.ended == nil, "seed \(seed)")
    }
}
