import BridgeProtocol
import TestSupport
import Testing

@Suite("What a side says last")
struct FarewellTests {
    private enum State: CaseIterable {
        case staying
        /// Behind event 5.
        case said
        case left

        var farewell: Farewell {
            var farewell = Farewell()
            if self != .staying { farewell.said(.shutdown, text: "drained", behind: 5) }
            if self == .left { _ = farewell.leaves(behind: 5, handled: 3) }
            return farewell
        }
    }

    private static func remainder(
        _ lastComposed: UInt64,
        of lastSequence: UInt64,
        isQueueEmpty: Bool = true,
        isShared: Bool
    ) -> Farewell.Remainder {
        Farewell.Remainder(
            lastComposed: lastComposed,
            lastSequence: lastSequence,
            isQueueEmpty: isQueueEmpty,
            isShared: isShared
        )
    }

    @Test("it leaves once it was said, behind what lies there; in shared memory, behind what lay there then")
    func mayLeave() {
        let rows: [(lastComposed: UInt64, lastSequence: UInt64, isQueueEmpty: Bool, own: Bool, shared: Bool)] = [
            (4, 5, true, false, false),
            (5, 5, true, true, true),
            (5, 5, false, false, true),
            (5, 6, true, false, true),
            (6, 6, true, true, true),
            (6, 6, false, false, true),
        ]
        for row in rows {
            for isShared in [false, true] {
                for state in State.allCases {
                    let remainder = Self.remainder(
                        row.lastComposed,
                        of: row.lastSequence,
                        isQueueEmpty: row.isQueueEmpty,
                        isShared: isShared
                    )
                    let expected = state == .said && (isShared ? row.shared : row.own)
                    #expect(state.farewell.mayLeave(behind: remainder) == expected, "\(state) \(remainder)")
                }
            }
        }
    }

    @Test("each state, and what is said and leaves then")
    func everyInput() {
        for state in State.allCases {
            var said = state.farewell
            #expect(said.hasLeft == (state == .left))
            #expect(said.isWaiting == (state == .said))
            said.said(.replaced, text: "again", behind: 9)
            if state == .staying {
                #expect(said.mayLeave(behind: Self.remainder(9, of: 9, isShared: true)))
                #expect(!said.mayLeave(behind: Self.remainder(8, of: 9, isShared: true)))
            } else {
                // Only the first farewell counts.
                #expect(said == state.farewell)
            }
            var left = state.farewell
            let goodbye = left.leaves(behind: 7, handled: 6)
            switch state {
            case .staying, .left:
                #expect(goodbye == nil)
                #expect(left == state.farewell)
            case .said:
                let reason = Goodbye.Reason.shutdown.rawValue
                #expect(goodbye == Goodbye(reason: reason, text: "drained", lastWritten: 7, handledMark: 6))
                #expect(left.hasLeft)
            }
        }
    }

    @Test("a random life: it leaves once, and behind all that was there when it was said")
    func randomLives() {
        var random = SeededGenerator.announced()
        for round in 0..<rounds(300) {
            let isShared = round.isMultiple(of: 2)
            var farewell = Farewell()
            var (lastComposed, lastSequence, queued) = (UInt64(0), UInt64(0), 0)
            var saidBehind: (sequence: UInt64, queued: Int)?
            var departures = 0
            for _ in 0..<100 {
                switch random.below(6) {
                case 0: lastSequence += 1
                case 1: queued += isShared ? 0 : 1
                case 2 where queued > 0: (queued, lastSequence) = (queued - 1, lastSequence + 1)
                case 3: lastComposed = min(lastSequence, lastComposed + UInt64(random.below(4)))
                case 4 where random.below(10) == 0:
                    farewell.said(.idle, text: "", behind: lastSequence)
                    saidBehind = saidBehind ?? (lastSequence, queued)
                default: break
                }
                let remainder = Self.remainder(
                    lastComposed,
                    of: lastSequence,
                    isQueueEmpty: queued == 0,
                    isShared: isShared
                )
                guard farewell.mayLeave(behind: remainder) else { continue }
                #expect(farewell.leaves(behind: lastComposed, handled: 0)?.lastWritten.asWritten == lastComposed)
                departures += 1
                // By then the events that waited before the outbox are in it too.
                let behind = saidBehind.map { $0.sequence + UInt64($0.queued) } ?? .max
                #expect(lastComposed >= behind)
            }
            #expect(departures <= 1)
            #expect(farewell.hasLeft == (departures == 1))
        }
    }
}
