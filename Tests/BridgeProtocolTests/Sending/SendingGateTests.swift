import BridgeProtocol
import TestSupport
import Testing

@Suite("Whether events leave")
struct SendingGateTests {
    private enum Input: CaseIterable {
        case ready
        case pause
        case goOn
        case keep
        case letLeave
    }

    /// The expected state after the inputs so far.
    private struct Expected {
        var isReady = false
        var isPaused = false
        var isKept = false

        mutating func take(_ input: Input) {
            switch input {
            case .ready: isReady = true
            case .pause: isPaused = true
            case .goOn: isPaused = false
            case .keep: isKept = true
            case .letLeave: isKept = false
            }
        }
    }

    private static func give(_ input: Input, to gate: inout SendingGate) {
        switch input {
        case .ready: gate.peerIsReady()
        case .pause: gate.setPaused(true)
        case .goOn: gate.setPaused(false)
        case .keep: gate.keep()
        case .letLeave: gate.letLeave()
        }
    }

    private static func check(_ gate: SendingGate, _ expected: Expected) {
        #expect(gate.isOpen == (expected.isReady && !expected.isPaused && !expected.isKept), "\(expected)")
        #expect(gate.holdsBack == (expected.isPaused || expected.isKept), "\(expected)")
        #expect(gate.isPaused == expected.isPaused && gate.isReleased == expected.isReady, "\(expected)")
    }

    @Test("each input in each state: open once the peer is ready, unless it pauses or is let go")
    func table() {
        for state in 0..<8 {
            var gate = SendingGate()
            var expected = Expected()
            let before: [Input] = [.ready, .pause, .keep].enumerated().filter { state & 1 << $0.offset != 0 }.map(
                \.element
            )
            for input in before {
                Self.give(input, to: &gate)
                expected.take(input)
            }
            Self.check(gate, expected)
            for input in Input.allCases {
                var (next, after) = (gate, expected)
                Self.give(input, to: &next)
                after.take(input)
                Self.check(next, after)
                #expect(!next.isHolding && next.last == .max)
            }
        }
    }

    @Test("what is held keeps back what lies behind it, until the oldest is released, in whatever order")
    func holds() {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(200) {
            var gate = SendingGate()
            var held: [UInt64] = []
            var newest: UInt64 = 0
            for _ in 0..<50 {
                if held.isEmpty || random.below(2) == 0 {
                    newest += UInt64(random.below(3)) + 1
                    gate.hold(newest)
                    held.append(newest)
                } else {
                    let released = held.remove(at: random.below(held.count))
                    gate.release(released)
                }
                #expect(gate.isHolding == !held.isEmpty)
                #expect(gate.last == held.first.map { $0 - 1 } ?? .max)
            }
            gate.release(newest + 1)
            #expect(gate.isHolding == !held.isEmpty)
        }
    }

    @Test("what was held before the outbox of another link is held behind what is held here")
    func moved() {
        var gate = SendingGate()
        gate.hold(3)
        gate.hold(contentsOf: [1, 2])
        #expect(gate.last == 2)
        gate.release(3)
        #expect(gate.isHolding)
        gate.release(1)
        gate.release(2)
        #expect(!gate.isHolding && gate.last == .max)
    }
}
