import BridgeProtocol
import DomainEvents
import Testing

@Suite("Who pays for a crash")
struct ProbationTests {
    /// One crash: the open events, and the result.
    struct Step: Sendable {
        let open: [UInt64]
        let verdict: CrashLedger.Verdict
        var acknowledgesBefore = false
        /// Settled after the crash, before the next.
        var settled: [UInt64] = []
    }

    static let tables: [(name: String, steps: [Step])] = [
        (
            "a receiver that crashes with nothing open is to blame itself",
            (1...9).map { _ in Step(open: [], verdict: .worker) }
        ),
        (
            "one event gets a strike each time, and is dead at the third",
            [
                Step(open: [4], verdict: .strike), Step(open: [4], verdict: .strike),
                Step(open: [4], verdict: .deadLetter),
            ]
        ),
        (
            "of several open events none gets a strike",
            (1...5).map { _ in Step(open: [1, 2], verdict: .worker) }
        ),
        (
            "strikes stay while others are suspected in between",
            [
                Step(open: [2], verdict: .strike), Step(open: [2, 3], verdict: .worker),
                Step(open: [2], verdict: .strike),
                Step(open: [2], verdict: .deadLetter),
            ]
        ),
        (
            "an event that was handled after all has no strikes any more",
            [
                Step(open: [2], verdict: .strike), Step(open: [2], verdict: .strike, settled: [2]),
                Step(open: [2], verdict: .strike),
            ]
        ),
        (
            "three dead letters without a success between them: the receiver is broken",
            [
                Step(open: [1], verdict: .strike), Step(open: [1], verdict: .strike),
                Step(open: [1], verdict: .deadLetter, settled: [1]),
                Step(open: [2], verdict: .strike), Step(open: [2], verdict: .strike),
                Step(open: [2], verdict: .deadLetter, settled: [2]),
                Step(open: [3], verdict: .strike), Step(open: [3], verdict: .strike),
                Step(open: [3], verdict: .broken, settled: [3]),
                // A restart of the worker was asked for.
                Step(open: [4], verdict: .strike), Step(open: [4], verdict: .strike),
                Step(open: [4], verdict: .deadLetter),
            ]
        ),
        (
            "a success between them shows that it is able to work",
            [
                Step(open: [1], verdict: .strike), Step(open: [1], verdict: .strike),
                Step(open: [1], verdict: .deadLetter, settled: [1]),
                Step(open: [2], verdict: .strike), Step(open: [2], verdict: .strike),
                Step(open: [2], verdict: .deadLetter, settled: [2]),
                Step(open: [4], verdict: .strike, acknowledgesBefore: true), Step(open: [4], verdict: .strike),
                Step(open: [4], verdict: .deadLetter, settled: [4]),
            ]
        ),
    ]

    @Test("an event that is there twice is one event: its older copy gets the strikes")
    func copies() {
        var outbox = Outbox(limits: LinkLimits())
        for number: UInt64 in [1, 2, 1] { _ = outbox.append(frameLength: 8, source: Self.source, number: number) }
        for strikes in 1...2 {
            let finding = outbox.receiverCrashed(suspects: ids(1), because: "crash")
            #expect(finding == .struck(sequence: 1, strikes: [String](repeating: "crash", count: strikes)))
        }
    }

    @Test("crashes are judged as the table says", arguments: tables.indices)
    func table(_ index: Int) {
        let (name, steps) = Self.tables[index]
        var probation = Probation()
        var ledger = CrashLedger(strikeLimit: 3)
        for (number, step) in steps.enumerated() {
            if step.acknowledgesBefore { ledger.eventsWereAcknowledged() }
            let verdict = ledger.crashed(probation.crashed(suspects: step.open, because: "crash \(number)"))
            #expect(verdict == step.verdict, "\(name): crash \(number)")
            for sequence in step.settled { probation.settled(sequence) }
        }
    }

    @Test("the reasons of all strikes are kept in order, and as many strikes are needed as were set")
    func reasons() {
        var probation = Probation()
        var ledger = CrashLedger(strikeLimit: 2)
        #expect(ledger.crashed(probation.crashed(suspects: [7], because: "first")) == .strike)
        let second = probation.crashed(suspects: [7], because: "second")
        #expect(second == .struck(sequence: 7, strikes: ["first", "second"]))
        #expect(ledger.crashed(second) == .deadLetter)
    }

    // MARK: - In the outbox

    private static let source = EventSource(origin: "a", incarnation: 1)

    private func compose(_ outbox: inout Outbox) -> UInt64 {
        var pieces: [UnsafeRawBufferPointer] = []
        outbox.compose(into: &pieces, maximumBytes: .max)
        outbox.composedWasWritten()
        return outbox.lastComposed
    }

    private func acknowledge(_ outbox: inout Outbox, _ mark: UInt64) throws {
        _ = outbox.settle(try outbox.credit(Acknowledgement(mark: mark)))
    }

    private func makeOutbox(events: UInt64) -> Outbox {
        var outbox = Outbox(limits: LinkLimits())
        for number in 1...events { _ = outbox.append(frameLength: 8, source: Self.source, number: number) }
        return outbox
    }

    private func ids(_ numbers: UInt64...) -> [EventID] { numbers.map { EventID(source: Self.source, number: $0) } }

    @Test("while a suspect is left, one event is in flight at most, and then all that the window takes")
    func oneAtATime() throws {
        var outbox = makeOutbox(events: 9)
        let finding = outbox.receiverCrashed(suspects: ids(1, 3), because: "crash")
        #expect(finding == .several)
        for sequence: UInt64 in 1...3 {
            #expect(compose(&outbox) == sequence)
            #expect(compose(&outbox) == sequence)
            try acknowledge(&outbox, sequence)
        }
        #expect(compose(&outbox) == 9)
    }

    @Test("a suspect that is refused is settled, and the others go on", arguments: [false, true])
    func refused(isAcknowledged: Bool) throws {
        var outbox = makeOutbox(events: 3)
        _ = outbox.receiverCrashed(suspects: ids(1), because: "crash")
        _ = compose(&outbox)
        #expect(outbox.probation.strikes(of: 1) == ["crash"])
        let isFound = try outbox.refuse(1) != nil
        #expect(isFound)
        if isAcknowledged { try acknowledge(&outbox, 1) } else { outbox.refusalWasTold(settled: nil) }
        #expect(outbox.probation.isEmpty)
        #expect(outbox.acknowledgedEvents == 0)
        #expect(compose(&outbox) == 3)
    }

    @Test("what is not in the outbox any more is suspected of nothing")
    func settledBefore() throws {
        var outbox = makeOutbox(events: 3)
        _ = compose(&outbox)
        try acknowledge(&outbox, 1)
        #expect(outbox.acknowledgedEvents == 1)
        let finding = outbox.receiverCrashed(suspects: ids(1, 2), because: "crash")
        #expect(finding == .struck(sequence: 2, strikes: ["crash"]))
        outbox.forEachUnsettled { #expect(($0.strikes != nil) == ($0.sequence == 2)) }
    }
}
