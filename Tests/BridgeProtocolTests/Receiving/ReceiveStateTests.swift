import BridgeProtocol
import DomainEvents
import TestSupport
import Testing

extension ReceiveState {
    /// One event arrives alone.
    fileprivate mutating func eventReceived(sequence: UntrustedNumber, frameLength: Int) throws -> UInt64 {
        try arrive([ArrivedEvent(sequence: sequence, frameLength: frameLength)])
        return lastReceived
    }

    /// Events arrive together; all of them are taken, or one breaks the protocol.
    @discardableResult
    fileprivate mutating func arrive(_ events: [ArrivedEvent]) throws -> Int {
        try events.withUnsafeBufferPointer { events throws(LinkViolation) in try eventsReceived(events) }
    }

    /// What comes of events that arrive together: how many are taken, or the violation.
    fileprivate mutating func outcome(of events: [ArrivedEvent]) -> Result<Int, LinkViolation> {
        events.withUnsafeBufferPointer { events in
            do throws(LinkViolation) { return .success(try eventsReceived(events)) } catch { return .failure(error) }
        }
    }
}

@Suite("What a side knows of what its peer sends")
struct ReceiveStateTests {
    /// A state after the handshake.
    private func established(
        _ role: LinkPhaseMachine.Role = .host,
        windowEvents: Int = 400,
        windowBytes: Int = LinkLimits().windowBytes,
        controlMessages: Int? = nil
    ) throws -> ReceiveState {
        var limits = LinkLimits()
        limits.windowEvents = windowEvents
        limits.windowBytes = windowBytes
        limits.controlMessages = controlMessages
        var state = ReceiveState(role: role, limits: limits, now: 0)
        #expect(state.isEstablished == false)
        try state.messageReceived(role == .host ? .hello : .welcome, eventsSent: 0, now: 0)
        #expect(state.isEstablished == true)
        return state
    }

    /// An acknowledgement of sent events that comes after an event of the peer.
    private func checked(mark: UInt64 = 1, after: UInt64) throws -> CheckedAcknowledgement {
        try CheckedAcknowledgement(Acknowledgement(mark: mark, after: after), lastComposed: .max)
    }

    private func batch(isLast: Bool = false, queued: Int = 0) -> AcknowledgementPlan.Batch {
        .init(carriesFrames: false, isLast: isLast, lastComposed: 0, lastSequence: 0, queued: queued, isHeldBack: false)
    }

    @Test("events, gaps and places of events are received between the handshake and the end")
    func phases() throws {
        let receive: [(inout ReceiveState) throws -> Void] = [
            { _ = try $0.eventReceived(sequence: 1, frameLength: 1) },
            { _ = try $0.gapReceived(sequence: 1, frameLength: 1) },
            { try $0.placeReceived() },
        ]
        for step in receive {
            for role in [LinkPhaseMachine.Role.host, .worker] {
                var early = ReceiveState(role: role, limits: LinkLimits(), now: 0)
                #expect(throws: LinkViolation.self) { try step(&early) }
                // A refused event has changed nothing.
                #expect(early.lastArrived == 0 && early.openEvents == 0)
                var state = try established(role)
                try step(&state)
                var ended = try established(role)
                try ended.messageReceived(.goodbye, eventsSent: 0, now: 0)
                #expect(throws: LinkViolation.self) { try step(&ended) }
                var rejected = try established(role)
                rejected.peerWasRejected()
                #expect(throws: LinkViolation.self) { try step(&rejected) }
            }
        }
    }

    @Test("a message that no event asked for is paid out of the allowance, known or not")
    func allowance() throws {
        for kind in [FrameKind.heartbeat, nil] {
            var state = try established(controlMessages: 2)
            // The hello was the first of eight messages.
            for _ in 0..<7 { try state.messageReceived(kind, eventsSent: 0, now: 0) }
            #expect(throws: LinkViolation.self) { try state.messageReceived(kind, eventsSent: 0, now: 0) }
            try state.messageReceived(kind, eventsSent: 0, now: 500_000_000)
        }
        var answering = try established(controlMessages: 2)
        for _ in 0..<10 { try answering.messageReceived(.acknowledge, eventsSent: 1_000, now: 0) }
    }

    @Test("a peer that speaks in lines has another window")
    func lines() throws {
        var state = ReceiveState(role: .host, limits: LinkLimits(), now: 0)
        state.beginLines(LinkLimits())
        try state.messageReceived(.hello, eventsSent: 0, now: 0)
        let first = try state.eventReceived(sequence: 1, frameLength: LinkLimits().windowBytes)
        // The second would be too much for the window of a link.
        let second = try state.eventReceived(sequence: 2, frameLength: LinkLimits().windowBytes)
        #expect(first == 1)
        #expect(second == 2)
    }

    /// The outcome of an event.
    private enum Outcome: CaseIterable {
        case handled
        case unwanted
        case refused
        case gap
    }

    @Test("each outcome, whether quiet is waited for or not: when the peer is told, and what is counted")
    func everyOutcome() throws {
        for outcome in Outcome.allCases {
            for isQuietAwaited in [false, true] {
                for isMuch in [false, true] {
                    var state = try established(windowEvents: isMuch ? 4 : 400)
                    let sequence =
                        try outcome == .gap
                        ? state.gapReceived(sequence: 1, frameLength: 10)
                        : state.eventReceived(sequence: 1, frameLength: 10)
                    #expect(state.unhandledEvents == 1)
                    #expect(state.openEvents == (outcome == .gap ? 0 : 1))
                    let urgency =
                        switch outcome {
                        case .handled: state.handled(sequence, isQuietAwaited: isQuietAwaited)
                        case .unwanted: state.handled(sequence, wasUnwanted: true, isQuietAwaited: isQuietAwaited)
                        case .refused: state.refused(sequence, isQuietAwaited: isQuietAwaited)
                        case .gap: state.gapHandled(sequence, isQuietAwaited: isQuietAwaited)
                        }
                    #expect(urgency == (isQuietAwaited || isMuch ? .now : .soon))
                    #expect(state.unhandledEvents == 0 && state.openEvents == 0 && state.mark == 1)
                    #expect(state.receivedEvents == (outcome == .gap ? 0 : 1))
                    #expect(state.unwantedEvents == (outcome == .unwanted ? 1 : 0))
                    #expect(state.refusedEvents == (outcome == .refused ? 1 : 0))
                    #expect(state.receivedBytes == 10)
                    // An acknowledgement that does not leave at once waits for a frame, or for the last batch.
                    #expect(state.mayHaveToSay == true)
                    let acknowledgement = state.batchLeaves(batch())
                    let expected = Acknowledgement(mark: 1, unwanted: outcome == .unwanted ? 1 : 0)
                    #expect(acknowledgement == (urgency == .now ? expected : nil))
                    let last = state.batchLeaves(batch(isLast: true))
                    #expect(last == (urgency == .now ? nil : expected))
                    // Handling the event again changes nothing.
                    #expect(state.handled(sequence, isQuietAwaited: isQuietAwaited) == .none)
                    #expect(state.mayHaveToSay == false)
                    #expect(state.batchLeaves(batch(isLast: true)) == nil)
                }
            }
        }
    }

    @Test("one behind what may never come is said again when nothing waits any more")
    func saidAgain() throws {
        var state = try established()
        let first = try state.eventReceived(sequence: 1, frameLength: 1)
        _ = state.handled(first, isQuietAwaited: true)
        #expect(state.batchLeaves(batch(queued: 2)) == Acknowledgement(mark: 1, after: 2))
        for _ in 0..<2 {
            #expect(state.mayHaveToSay == true)
            #expect(state.batchLeaves(batch(queued: 1)) == nil)
        }
        #expect(state.mayHaveToSay == true)
        #expect(state.batchLeaves(batch()) == Acknowledgement(mark: 1))
        #expect(state.mayHaveToSay == false)
    }

    @Test("an acknowledgement is due only if there is something to say, and said again only if anything has come")
    func wishes() throws {
        var state = try established()
        state.acknowledgementIsDue()
        #expect(state.mayHaveToSay == false)
        #expect(state.batchLeaves(batch()) == nil)
        state.lastAcknowledgementMayNeverStand()
        #expect(state.mayHaveToSay == false)
        #expect(state.batchLeaves(batch()) == nil)
        let first = try state.eventReceived(sequence: 1, frameLength: 1)
        _ = state.handled(first, isQuietAwaited: false)
        state.acknowledgementIsDue()
        #expect(state.batchLeaves(batch()) == Acknowledgement(mark: 1))
        #expect(state.batchLeaves(batch()) == nil)
        state.lastAcknowledgementMayNeverStand()
        #expect(state.mayHaveToSay == true)
        #expect(state.batchLeaves(batch()) == Acknowledgement(mark: 1))
        #expect(state.batchLeaves(batch()) == nil)
    }

    @Test("an event that broke the protocol stays open and unacknowledged")
    func broken() throws {
        var state = try established()
        _ = try state.eventReceived(sequence: 1, frameLength: 1)
        state.eventBroke(1, frameBytes: 0)
        #expect(state.brokenEvents == 1 && state.openEvents == 1)
        state.acknowledgementIsDue()
        #expect(state.batchLeaves(batch(isLast: true)) == nil)
    }

    private func run(_ sequences: ClosedRange<UInt64>) -> [ArrivedEvent] {
        sequences.map { ArrivedEvent(sequence: UntrustedNumber($0), frameLength: 10) }
    }

    @Test("the events behind one that broke the protocol have not arrived", arguments: 1...UInt64(4))
    func brokenInRun(sequence: UInt64) throws {
        var state = try established()
        try state.arrive(run(1...4))
        state.handled(through: sequence - 1)
        state.eventBroke(sequence, frameBytes: Int(4 - sequence) * 10)
        #expect(state.lastReceived == sequence && state.receivedEvents == sequence && state.openEvents == 1)
        #expect(state.mark == sequence - 1)
        #expect(state.receivedBytes == sequence * 10)
    }

    @Test("a run of events is taken as its events one by one would be, up to the first that must not come")
    func runsAndSingleEvents() throws {
        // Windows that such runs fill; sequences that are right, and those that skip or repeat one.
        for windowBytes in [1_000, 2_000, 1 << 20] {
            for windowEvents in [1, 3, 8] {
                for wrong in [-1, 0, 1, 3] {
                    for length in [10, 400, 1_500] {
                        let events = (0..<5).map { index in
                            ArrivedEvent(
                                sequence: UntrustedNumber(UInt64(index) + (index == wrong ? UInt64(0) : UInt64(1))),
                                frameLength: length
                            )
                        }
                        var together = try established(windowEvents: windowEvents, windowBytes: windowBytes)
                        var single = try established(windowEvents: windowEvents, windowBytes: windowBytes)
                        var (taken, violation) = (0, nil as LinkViolation?)
                        for event in events {
                            guard case .failure(let found) = single.outcome(of: [event]) else {
                                taken += 1
                                continue
                            }
                            violation = found
                            break
                        }
                        if taken > 0 {
                            let outcome = together.outcome(of: events)
                            #expect(outcome == .success(taken))
                        }
                        // The violation comes with the event that it is of.
                        if let violation {
                            let outcome = together.outcome(of: Array(events[taken...]))
                            #expect(outcome == .failure(violation))
                        }
                        #expect(together.lastReceived == single.lastReceived)
                        #expect(together.receivedBytes == single.receivedBytes)
                        for sequence in 1...UInt64(5) {
                            let urgency = together.handled(sequence, isQuietAwaited: false)
                            let other = single.handled(sequence, isQuietAwaited: false)
                            #expect(urgency == other)
                        }
                        let acknowledgement = together.batchLeaves(batch(isLast: true))
                        let other = single.batchLeaves(batch(isLast: true))
                        #expect(acknowledgement == other)
                    }
                }
            }
        }
    }

    @Test("a run is noted as handled as far as it is, but for the events of which the end is told otherwise")
    func runs() throws {
        var state = try established()
        try state.arrive(run(1...6))
        #expect(state.urgency(isQuietAwaited: true) == .none)
        state.handled(through: 2)
        #expect(state.mark == 2 && state.openEvents == 4)
        #expect(state.urgency(isQuietAwaited: false) == .soon)
        #expect(state.urgency(isQuietAwaited: true) == .now)
        state.isPending(3)
        _ = state.refused(4, isQuietAwaited: false)
        // Noting it again changes nothing.
        state.handled(through: 2)
        state.handled(through: 5)
        #expect(state.mark == 2 && state.openEvents == 2)
        _ = state.handled(3, isQuietAwaited: false)
        #expect(state.mark == 5 && state.openEvents == 1)
        // The last one is in hand while the next run arrives.
        state.isPending(6)
        try state.arrive(run(7...8))
        state.handled(through: 7)
        #expect(state.mark == 5 && state.openEvents == 2)
        _ = state.handled(6, wasUnwanted: true, isQuietAwaited: false)
        #expect(state.mark == 7 && state.unwantedEvents == 1 && state.refusedEvents == 1)
        // A gap between two runs is handled by itself.
        let gap = try state.gapReceived(sequence: 9, frameLength: 10)
        #expect(throws: LinkViolation.self) { try state.arrive(run(9...9)) }
        _ = state.handled(8, isQuietAwaited: false)
        try state.arrive(run(10...10))
        state.handled(through: 10)
        #expect(state.mark == 8)
        _ = state.gapHandled(gap, isQuietAwaited: false)
        #expect(state.mark == 10 && state.unhandledEvents == 0)
    }

    @Test("what the peer acknowledges stands behind its events, wherever they are safe: each count of those that wait")
    func standing() throws {
        // Two events have come; the memory says three were accepted, or there is none.
        for accepted: UntrustedNumber? in [nil, 3] {
            for waiting in 0...3 {
                var state = try established()
                for sequence: UntrustedNumber in [1, 2] {
                    _ = try state.eventReceived(sequence: sequence, frameLength: 1)
                }
                let arrived = try checked(mark: 1, after: 2)
                #expect(state.acknowledged(arrived, accepted: accepted) == true)
                #expect(state.hasExpected && !state.hasPending)
                let safe = try checked(mark: 2, after: 3)
                #expect(state.acknowledged(safe, accepted: 3) == true)
                #expect(state.hasExpected == false)
                for number in 0..<UInt64(waiting) {
                    let late = try checked(mark: 3 + number, after: 4 + number)
                    #expect(state.acknowledged(late, accepted: accepted) == false)
                }
                #expect(state.hasPending == (waiting > 0))
                #expect(state.takeStanding(accepted) == nil)
                // Of the waiting numbers the oldest and the newest are kept.
                let kept = waiting < 3 ? (0..<UInt64(waiting)).map { 3 + $0 } : [3, 5]
                var taken: [UInt64] = []
                state.wasRecovered(9)
                while let next = state.takeStanding(accepted) { taken.append(next.mark) }
                #expect(taken == kept)
                #expect(!state.hasPending && state.hasExpected)
            }
        }
    }

    @Test("the oldest that waits goes first, when its event arrives, and the others wait on")
    func oneByOne() throws {
        var state = try established()
        let (first, second) = (try checked(mark: 1, after: 1), try checked(mark: 2, after: 2))
        #expect(state.acknowledged(first, accepted: nil) == false)
        #expect(state.acknowledged(second, accepted: nil) == false)
        _ = try state.eventReceived(sequence: 1, frameLength: 1)
        #expect(state.takeStanding(nil)?.mark == 1)
        #expect(state.takeStanding(nil) == nil)
        #expect(state.hasPending == true)
        // An event in memory that outlives the peer is as safe.
        #expect(state.takeStanding(2)?.mark == 2)
        #expect(state.lastReceived == 1 && state.lastArrived == 1)
        state.wasRecovered(2)
        #expect(state.lastReceived == 1 && state.lastArrived == 2)
    }

    @Test("a random life: the books balance at each step, and in the end the peer knows all")
    func randomLives() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(300) {
            var state = try established(windowEvents: 64)
            var open: [UInt64] = []
            var gap: UInt64?
            var (events, handled, unwanted, refused, gaps) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0), UInt64(0))
            var told: Acknowledgement?
            for _ in 0..<random.below(300) {
                let isQuietAwaited = random.below(8) == 0
                switch random.below(7) {
                case 0, 1:
                    guard open.count < 16, gap == nil, state.lastReceived < (told?.mark.asWritten ?? 0) + 48 else {
                        continue
                    }
                    let next = UntrustedNumber(state.lastReceived + 1)
                    if random.below(5) == 0 {
                        gap = try state.gapReceived(sequence: next, frameLength: 1)
                        gaps += 1
                    } else {
                        open.append(try state.eventReceived(sequence: next, frameLength: 1))
                        events += 1
                    }
                case 2 where !open.isEmpty:
                    let sequence = open.remove(at: random.below(open.count))
                    switch random.below(3) {
                    case 0:
                        refused += 1
                        _ = state.refused(sequence, isQuietAwaited: isQuietAwaited)
                    case 1:
                        unwanted += 1
                        _ = state.handled(sequence, wasUnwanted: true, isQuietAwaited: isQuietAwaited)
                    default:
                        handled += 1
                        _ = state.handled(sequence, isQuietAwaited: isQuietAwaited)
                    }
                case 3:
                    if let sequence = gap { _ = state.gapHandled(sequence, isQuietAwaited: isQuietAwaited) }
                    gap = nil
                case 4: state.acknowledgementIsDue()
                case 5: state.lastAcknowledgementMayNeverStand()
                default: told = state.batchLeaves(batch()) ?? told
                }
                #expect(state.receivedEvents == events)
                #expect(state.lastReceived == events + gaps)
                #expect(state.openEvents == open.count)
                #expect(events == handled + unwanted + refused + UInt64(open.count))
                #expect(state.unwantedEvents == unwanted)
                #expect(state.refusedEvents == refused)
                #expect(told?.mark.asWritten ?? 0 <= state.mark)
            }
            for sequence in open { _ = state.handled(sequence, isQuietAwaited: false) }
            if let gap { _ = state.gapHandled(gap, isQuietAwaited: false) }
            told = state.batchLeaves(batch(isLast: true)) ?? told
            #expect(told?.mark.asWritten ?? 0 == state.lastReceived)
            #expect(state.unhandledEvents == 0)
        }
    }
}
