import BridgeProtocol
import TestSupport
import Testing

@Suite("What a receiver remembers")
struct ReceiveWindowTests {
    private func window(events: Int = 8, bytes: Int = 1 << 20, received: Int = 0) throws -> ReceiveWindow {
        var window = ReceiveWindow(windowBytes: bytes, windowEvents: events)
        for sequence in 0..<received {
            try window.eventReceived(sequence: UntrustedNumber(UInt64(sequence + 1)), frameLength: 10)
        }
        return window
    }

    @Test("an acknowledgement is urgent only if that was foreseen when the events arrived")
    func foreseen() throws {
        for (windowEvents, windowBytes) in [(1, 1 << 20), (8, 1 << 20), (400, 2_000), (9, 3_000)] {
            var window = ReceiveWindow(windowBytes: windowBytes, windowEvents: windowEvents)
            var (urgent, calm) = (0, 0)
            for sequence in 1...UInt64(20) {
                try window.eventReceived(sequence: UntrustedNumber(sequence), frameLength: 10)
                let wasForeseen = window.mayBecomeUrgent
                if window.eventHandled(sequence: sequence) == .now {
                    #expect(wasForeseen)
                    urgent += 1
                    _ = window.takeAcknowledgement(after: 0)
                } else {
                    // All that is open is handled, so nothing else can make it urgent.
                    #expect(!wasForeseen)
                    calm += 1
                }
            }
            #expect(urgent > 0 && (calm > 0 || windowEvents < 4))
        }
    }

    @Test("events that are given back have not come: the same may come again", arguments: 0...UInt64(4))
    func givenBack(behind sequence: UInt64) throws {
        var window = try window(received: 4)
        window.giveBack(behind: sequence, frameBytes: Int(4 - sequence) * 10)
        #expect(window.lastReceived == sequence && window.receivedBytes == sequence * 10)
        for next in sequence..<8 { try window.eventReceived(sequence: UntrustedNumber(next + 1), frameLength: 10) }
        #expect(throws: LinkViolation.self) { try window.eventReceived(sequence: 9, frameLength: 10) }
        #expect(window.unhandledEvents == 8)
    }

    @Test("events handled in order move the mark")
    func inOrder() throws {
        var window = try window(received: 3)
        #expect(window.unhandledEvents == 3)
        #expect(window.eventHandled(sequence: 1) == .soon)
        #expect(window.eventHandled(sequence: 2) == .now)
        #expect(window.takeAcknowledgement(after: 5) == Acknowledgement(mark: 2, after: 5))
        #expect(window.takeAcknowledgement(after: 5) == nil)
        #expect(window.unhandledEvents == 1)
        #expect(!window.hasUnannounced)
    }

    @Test("events handled out of order are named as ranges, until the hole closes")
    func outOfOrder() throws {
        var window = try window(received: 8)
        for sequence: UInt64 in [3, 4, 7] { _ = window.eventHandled(sequence: sequence) }
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 0, ranges: [3...4, 7...7]))
        _ = window.eventHandled(sequence: 1)
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 1, ranges: [3...4, 7...7]))
        _ = window.eventHandled(sequence: 2)
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 4, ranges: [7...7]))
        #expect(window.unhandledEvents == 3)
    }

    @Test("an event counts as handled once, and only after it has arrived")
    func handledTwice() throws {
        var window = try window(received: 2)
        #expect(window.eventHandled(sequence: 3) == .none)
        #expect(window.eventHandled(sequence: 0) == .none)
        #expect(window.eventHandled(sequence: 2) == .soon)
        #expect(window.eventHandled(sequence: 2) == .none)
        _ = window.eventHandled(sequence: 1)
        #expect(window.eventHandled(sequence: 1) == .none)
        #expect(window.unhandledEvents == 0)
    }

    @Test("a quarter of the window, in events or in bytes, is acknowledged at once")
    func urgency() throws {
        var events = try window(events: 400, received: 200)
        for sequence in 1...99 { #expect(events.eventHandled(sequence: UInt64(sequence)) == .soon) }
        #expect(events.eventHandled(sequence: 100) == .now)
        var bytes = ReceiveWindow(windowBytes: 4_000, windowEvents: 1_000)
        try bytes.eventReceived(sequence: 1, frameLength: 999)
        try bytes.eventReceived(sequence: 2, frameLength: 1)
        #expect(bytes.eventHandled(sequence: 1) == .soon)
        #expect(bytes.eventHandled(sequence: 2) == .now)
    }

    @Test("a gap, a repetition and sequence 0 are violations", arguments: [0, 1, 2, 4, .max] as [UInt64])
    func wrongSequence(sequence: UInt64) throws {
        var window = try window(received: 2)
        #expect(throws: LinkViolation("event with sequence \(sequence) arrived where 3 was expected")) {
            try window.eventReceived(sequence: UntrustedNumber(sequence), frameLength: 1)
        }
    }

    @Test("one event more than the window is a violation that names both")
    func overrunInEvents() throws {
        var window = try window(events: 3, received: 3)
        #expect(throws: LinkViolation.self) { try window.eventReceived(sequence: 4, frameLength: 1) }
        // Handling alone does not help, because the sender cannot know of it.
        _ = window.eventHandled(sequence: 1)
        #expect(throws: LinkViolation.self) { try window.eventReceived(sequence: 4, frameLength: 1) }
        _ = window.takeAcknowledgement(after: 0)
        try window.eventReceived(sequence: 4, frameLength: 1)
    }

    @Test("bytes beyond the window are a violation; an event counts for 256 at least")
    func overrunInBytes() throws {
        var window = ReceiveWindow(windowBytes: 600, windowEvents: 100)
        try window.eventReceived(sequence: 1, frameLength: 1)
        try window.eventReceived(sequence: 2, frameLength: 344)
        #expect(throws: LinkViolation.self) { try window.eventReceived(sequence: 3, frameLength: 1) }
    }

    @Test("an event larger than the window goes alone")
    func largeEvent() throws {
        var window = ReceiveWindow(windowBytes: 600, windowEvents: 100)
        try window.eventReceived(sequence: 1, frameLength: 10_000)
        #expect(throws: LinkViolation.self) { try window.eventReceived(sequence: 2, frameLength: 1) }
        _ = window.eventHandled(sequence: 1)
        _ = window.takeAcknowledgement(after: 0)
        try window.eventReceived(sequence: 2, frameLength: 1)
        #expect(throws: LinkViolation.self) { try window.eventReceived(sequence: 3, frameLength: 10_000) }
    }

    /// A range of one sequence for the double of each number.
    private func evenSequences(_ halves: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        halves.map { (half: UInt64) -> ClosedRange<UInt64> in (half * 2)...(half * 2) }
    }

    @Test("at most 64 ranges are named; what lies behind them is told when the oldest hole closes")
    func manyHoles() throws {
        var window = try window(events: 300, received: 300)
        for sequence in stride(from: 2, through: 300, by: 2) { _ = window.eventHandled(sequence: UInt64(sequence)) }
        let firstTaken = window.takeAcknowledgement(after: 0)
        let first = try #require(firstTaken)
        #expect(first.mark == 0)
        #expect(first.ranges.map(\.asWritten) == evenSequences(1...64))
        // Nothing new can be announced now, although there is something to announce.
        #expect(window.hasUnannounced)
        #expect(window.takeAcknowledgement(after: 0) == nil)
        // So there is no need to acknowledge at once, although it is more than a quarter of the window.
        #expect(window.eventHandled(sequence: 299) == .soon)
        _ = window.eventHandled(sequence: 1)
        let secondTaken = window.takeAcknowledgement(after: 0)
        let second = try #require(secondTaken)
        #expect(second.mark == 2)
        #expect(second.ranges.map(\.asWritten) == evenSequences(2...65))
        for sequence in stride(from: 3, through: 299, by: 2) { _ = window.eventHandled(sequence: UInt64(sequence)) }
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 300))
        #expect(!window.hasUnannounced)
        #expect(window.unhandledEvents == 0)
    }

    @Test("an unhandled event lets others pass for four windows and no further")
    func span() throws {
        var window = try window(events: 8, received: 1)
        for sequence in 2...32 {
            try window.eventReceived(sequence: UntrustedNumber(UInt64(sequence)), frameLength: 1)
            _ = window.eventHandled(sequence: UInt64(sequence))
            _ = window.takeAcknowledgement(after: 0)
        }
        #expect(throws: LinkViolation("event 33 is too far beyond 0, the last acknowledged one")) {
            try window.eventReceived(sequence: 33, frameLength: 1)
        }
        _ = window.eventHandled(sequence: 1)
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 32))
        try window.eventReceived(sequence: 33, frameLength: 1)
    }

    @Test("more events than there were slots at first are remembered one by one")
    func growth() throws {
        var window = try window(events: 4_096, received: 2_000)
        for sequence in (2...2_000).reversed() { _ = window.eventHandled(sequence: UInt64(sequence)) }
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 0, ranges: [2...2_000]))
        _ = window.eventHandled(sequence: 1)
        #expect(window.takeAcknowledgement(after: 0) == Acknowledgement(mark: 2_000))
    }

    @Test("a random history agrees with a set of what was handled")
    func randomModel() throws {
        var random = SeededGenerator.announced()
        for round in 0..<12 {
            let windowEvents = Int.random(in: 1...900, using: &random)
            var window = ReceiveWindow(windowBytes: .max, windowEvents: windowEvents)
            var received: UInt64 = 0
            var unhandled: Set<UInt64> = []
            /// The events that the sender knows to be handled.
            var told: Set<UInt64> = []
            var toldMark: UInt64 = 0
            let comment = Comment(rawValue: "seed \(random.seed), round \(round)")
            for _ in 0..<1_500 {
                switch Int.random(in: 0...9, using: &random) {
                case 0...4:
                    let isAllowed =
                        Int(received) - told.count < windowEvents && received < toldMark + UInt64(4 * windowEvents)
                    if isAllowed {
                        received += 1
                        try window.eventReceived(sequence: UntrustedNumber(received), frameLength: 1)
                        unhandled.insert(received)
                    } else {
                        var copy = window
                        #expect(throws: LinkViolation.self, comment) {
                            try copy.eventReceived(sequence: UntrustedNumber(received + 1), frameLength: 1)
                        }
                    }
                case 5...8:
                    guard
                        let sequence = Bool.random(using: &random)
                            ? unhandled.min() : unhandled.randomElement(using: &random)
                    else { continue }
                    unhandled.remove(sequence)
                    #expect(window.eventHandled(sequence: sequence) != .none, comment)
                default:
                    guard let acknowledgement = window.takeAcknowledgement(after: 0) else { continue }
                    let handled = Set(1...max(received, 1)).subtracting(unhandled)
                    let mark = (unhandled.min() ?? received + 1) - 1
                    #expect(acknowledgement.mark == mark, comment)
                    let named = Set(acknowledgement.ranges.flatMap { Array($0.asWritten) })
                    #expect(named.isSubset(of: handled) && named.allSatisfy { $0 > mark }, comment)
                    if acknowledgement.ranges.count < 64 {
                        #expect(named == handled.filter { $0 > mark }, comment)
                    }
                    toldMark = mark
                    if mark > 0 { told.formUnion(1...mark) }
                    told.formUnion(named)
                }
                #expect(window.unhandledEvents == unhandled.count, comment)
                #expect(window.lastReceived == received)
            }
        }
    }
}
