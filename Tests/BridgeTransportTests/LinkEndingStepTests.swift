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

    @Test("each step in each state leads to the state with that step, and none is taken back")
    func table() {
        for state in 0..<(1 << Step.allCases.count) {
            let taken = Set(Step.allCases.filter { state & 1 << $0.rawValue != 0 })
            var ending = LinkEnding()
            for step in taken.shuffled() { step.apply(to: &ending) }
            Self.check(ending, after: taken)
            for step in Step.allCases {
                var next = ending
                step.apply(to: &next)
                Self.check(next, after: taken.union([step]))
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
