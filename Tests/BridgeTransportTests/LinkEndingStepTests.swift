import BridgeTransport
import Testing

@Suite("How a link comes to its end")
struct LinkEndingStepTests {
    /// The steps of a link on its way to its end.
    private enum Step: Int, CaseIterable {
        case closedHere
        case peerWent
        case brokeOff
        case readToEnd
        case ended

        func apply(to ending: inout LinkEnding) {
            switch self {
            case .closedHere: ending.closedHere()
            case .peerWent: ending.peerWent()
            case .brokeOff: ending.breakOff("it takes nothing in")
            case .readToEnd: ending.streamWasReadToEnd()
            case .ended: ending.ended(.endOfStream)
            }
        }
    }

    /// Checks the answers after these steps, in any order.
    private static func check(_ ending: LinkEnding, after steps: Set<Step>) {
        let isWritable = steps.isDisjoint(with: [.readToEnd, .ended])
        #expect(ending.isWritable == isWritable, "\(steps)")
        #expect(ending.takesMessages == (isWritable && !steps.contains(.brokeOff)), "\(steps)")
        #expect(ending.isReadToEnd == steps.contains(.readToEnd), "\(steps)")
        #expect(ending.isClosedHere == steps.contains(.closedHere), "\(steps)")
        #expect(ending.awaitsPeersEnd == steps.isDisjoint(with: [.closedHere, .peerWent]), "\(steps)")
        #expect(ending.hasEnded == steps.contains(.ended), "\(steps)")
        #expect(ending.end == (steps.contains(.ended) ? .endOfStream : nil), "\(steps)")
        let brokenOff = steps.contains(.brokeOff) ? LinkEnding.Cause.brokenOff("it takes nothing in") : nil
        #expect(ending.cause == (steps.contains(.closedHere) ? .closedHere : brokenOff), "\(steps)")
    }

    @Test("each step in each state leads to the state with that step, in any order, and none is taken back")
    func table() throws {
        var states: [Set<Step>: LinkEnding] = [[]: LinkEnding()]
        // The numbers of the states that lack a step are lower.
        for number in 1..<(1 << Step.allCases.count) {
            let taken = Set(Step.allCases.filter { number & 1 << $0.rawValue != 0 })
            for last in taken {
                var ending = try #require(states[taken.subtracting([last])])
                last.apply(to: &ending)
                #expect(states[taken] == nil || states[taken] == ending, "\(last) as the last of \(taken)")
                states[taken] = ending
            }
        }
        for (taken, ending) in states {
            Self.check(ending, after: taken)
            for step in taken {
                var next = ending
                step.apply(to: &next)
                #expect(next == ending, "\(step) after \(taken)")
            }
        }
    }

    @Test("the first end counts")
    func firstEnd() {
        var ending = LinkEnding()
        ending.ended(.violation("a number"))
        ending.ended(.closed)
        #expect(ending.end == .violation("a number"))
    }
}
