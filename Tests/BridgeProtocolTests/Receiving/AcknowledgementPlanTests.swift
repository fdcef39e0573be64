import BridgeProtocol
import TestSupport
import Testing

@Suite("When an acknowledgement leaves, and behind what it stands")
struct AcknowledgementPlanTests {
    /// The memory of a plan; inputs reach all of its values.
    private struct Memory: OptionSet, Hashable {
        let rawValue: Int

        static let due = Memory(rawValue: 1)
        static let open = Memory(rawValue: 2)
        static let repeated = Memory(rawValue: 4)

        static let all = (0..<8).map { Memory(rawValue: $0) }

        var plan: AcknowledgementPlan {
            var plan = AcknowledgementPlan()
            if contains(.open) {
                plan.acknowledgementIsDue()
                _ = plan.batchLeaves(AcknowledgementPlanTests.batch(queued: 1), hasUnannounced: true, mayRide: true)
            }
            if contains(.due) { plan.acknowledgementIsDue() }
            if contains(.repeated) { plan.lastMayNeverStand() }
            return plan
        }
    }

    /// What a window has to announce: nothing, something with holes, or something without.
    private enum Handled: CaseIterable {
        case nothing
        case withHoles
        case inOrder

        var hasUnannounced: Bool { self != .nothing }
        var mayRide: Bool { self == .inOrder }
    }

    private static func batch(
        carriesFrames: Bool = false,
        isLast: Bool = false,
        lastComposed: UInt64 = 0,
        lastSequence: UInt64 = 0,
        queued: Int = 0,
        isHeldBack: Bool = false
    ) -> AcknowledgementPlan.Batch {
        AcknowledgementPlan.Batch(
            carriesFrames: carriesFrames,
            isLast: isLast,
            lastComposed: lastComposed,
            lastSequence: lastSequence,
            queued: queued,
            isHeldBack: isHeldBack
        )
    }

    /// What leaves for each memory with each batch: `-` nothing, `a` an acknowledgement, `r` a repeated
    /// acknowledgement.
    ///
    /// The columns of a row: nothing is handled, something with holes, something without; in each, an empty batch, one
    /// that carries frames, the last one, the last one with frames.
    private static let table: [(memory: Memory, isQueueEmpty: String, isQueueFilled: String)] = [
        ([], "---- --aa -aaa", "---- --aa -aaa"),
        ([.due], "aaaa aaaa aaaa", "aaaa aaaa aaaa"),
        ([.open], "rrrr rrrr rrrr", "---- --aa -aaa"),
        ([.due, .open], "rrrr rrrr rrrr", "aaaa aaaa aaaa"),
        ([.repeated], "rrrr rrrr rrrr", "rrrr rrrr rrrr"),
        ([.due, .repeated], "rrrr rrrr rrrr", "rrrr rrrr rrrr"),
        ([.open, .repeated], "rrrr rrrr rrrr", "rrrr rrrr rrrr"),
        ([.due, .open, .repeated], "rrrr rrrr rrrr", "rrrr rrrr rrrr"),
    ]

    @Test("each memory with each batch: what leaves, and what is remembered afterwards")
    func everyBatch() {
        #expect(Set(Self.table.map(\.memory)) == Set(Memory.all))
        #expect(Set(Memory.all.map(\.plan)).count == Memory.all.count)
        for (memory, isQueueEmpty, isQueueFilled) in Self.table {
            for (queued, row) in [(0, isQueueEmpty), (3, isQueueFilled)] {
                var expected = row.filter { $0 != " " }[...]
                for handled in Handled.allCases {
                    for (isLast, carriesFrames) in [(false, false), (false, true), (true, false), (true, true)] {
                        var plan = memory.plan
                        let batch = Self.batch(carriesFrames: carriesFrames, isLast: isLast, queued: queued)
                        let ride = plan.batchLeaves(
                            batch,
                            hasUnannounced: handled.hasUnannounced,
                            mayRide: handled.mayRide
                        )
                        let letter: Character = ride.map { $0.isRepeated ? "r" : "a" } ?? "-"
                        let wanted = expected.removeFirst()
                        #expect(letter == wanted, "\(memory) \(handled) \(batch)")
                        // An acknowledgement that left while events waited for the outbox stays open until none waits.
                        let staysOpen = queued > 0 && (memory.contains(.open) || handled.hasUnannounced)
                        let after: Memory = ride == nil ? memory : staysOpen ? .open : []
                        #expect(plan == after.plan, "\(memory) \(handled) \(batch)")
                    }
                }
                #expect(expected.isEmpty)
            }
        }
    }

    @Test("each memory with each wish: it is remembered once, beside the others")
    func everyWish() {
        for memory in Memory.all {
            var due = memory.plan
            due.acknowledgementIsDue()
            #expect(due == memory.union(.due).plan)
            var repeated = memory.plan
            repeated.lastMayNeverStand()
            #expect(repeated == memory.union(.repeated).plan)
        }
    }

    @Test("it stands behind all that has not left, unless that may stay for as long as it likes")
    func behind() {
        let rows: [(lastComposed: UInt64, lastSequence: UInt64, queued: Int, after: UInt64)] = [
            (0, 0, 0, 0), (5, 5, 0, 0), (3, 5, 0, 5), (0, 0, 2, 2), (5, 5, 2, 7), (3, 5, 2, 7),
        ]
        for row in rows {
            for isHeldBack in [false, true] {
                var plan = AcknowledgementPlan()
                plan.acknowledgementIsDue()
                let batch = Self.batch(
                    lastComposed: row.lastComposed,
                    lastSequence: row.lastSequence,
                    queued: row.queued,
                    isHeldBack: isHeldBack
                )
                let ride = plan.batchLeaves(batch, hasUnannounced: true, mayRide: true)
                #expect(ride == .init(after: isHeldBack ? 0 : row.after, isRepeated: false), "\(batch)")
            }
        }
    }

    @Test("a random life: nothing is acknowledged ahead of its consequences, and in the end all of it stands")
    func randomLives() throws {
        var random = SeededGenerator.announced()
        for _ in 0..<rounds(300) {
            var life = Life()
            for _ in 0..<random.below(200) { try life.step(&random) }
            try life.end()
        }
    }

    /// A side that receives events, and whose handlers publish some before they return.
    private struct Life {
        private var plan = AcknowledgementPlan()
        private var window = ReceiveWindow(windowBytes: 1 << 30, windowEvents: 64)
        private var unhandled: [UInt64] = []
        /// Events of this side, in the order of publishing: the sequence of each, or nil while the event waits.
        private var published: [UInt64?] = []
        private var dropped: Set<Int> = []
        private var lastSequence: UInt64 = 0
        private var lastComposed: UInt64 = 0
        /// How many were published before the handlers of an event had returned.
        private var consequences: [UInt64: Int] = [:]
        private var last: Acknowledgement?

        private var waiting: [Int] { published.indices.filter { published[$0] == nil && !dropped.contains($0) } }

        mutating func step(_ random: inout SeededGenerator) throws {
            switch random.below(8) {
            case 0:
                // A sender that keeps to the window.
                guard window.lastReceived < (last?.mark.asWritten ?? 0) + 48 else { return }
                unhandled.append(try receive())
            case 1: handle(at: random.below(unhandled.count))
            case 2: published.append(nil)
            case 3: if let event = waiting.randomElement(using: &random) { dropped.insert(event) }
            case 4: promote(random.below(3))
            case 5: lastComposed = min(lastSequence, lastComposed + UInt64(random.below(3)))
            case 6: if window.hasUnannounced { plan.acknowledgementIsDue() }
            default: leave(carriesFrames: random.below(2) == 0)
            }
        }

        private mutating func receive() throws -> UInt64 {
            try window.eventReceived(sequence: UntrustedNumber(window.lastReceived + 1), frameLength: 1)
        }

        private mutating func handle(at index: Int) {
            guard unhandled.indices.contains(index) else { return }
            let event = unhandled.remove(at: index)
            consequences[event] = published.count
            _ = window.eventHandled(sequence: event)
        }

        private mutating func promote(_ count: Int) {
            for event in waiting.prefix(count) {
                lastSequence += 1
                published[event] = lastSequence
            }
        }

        private mutating func leave(carriesFrames: Bool, isLast: Bool = false) {
            let batch = AcknowledgementPlanTests.batch(
                carriesFrames: carriesFrames,
                isLast: isLast,
                lastComposed: lastComposed,
                lastSequence: lastSequence,
                queued: waiting.count
            )
            let ride = plan.batchLeaves(batch, hasUnannounced: window.hasUnannounced, mayRide: window.mayRide)
            guard let ride,
                let acknowledgement = window.takeAcknowledgement(after: ride.after, isRepeated: ride.isRepeated)
            else { return }
            check(acknowledgement)
            last = acknowledgement
        }

        private func check(_ acknowledgement: Acknowledgement) {
            // The latest sequence that each waiting event could get.
            var latest = lastSequence
            var places = published
            for event in waiting {
                latest += 1
                places[event] = latest
            }
            for (event, count) in consequences where acknowledgement.covers(event) {
                let newest = places.prefix(count).compactMap { $0 }.max() ?? 0
                #expect(newest <= max(lastComposed, acknowledgement.after.asWritten))
            }
        }

        /// Handles everything and lets it leave.
        mutating func end() throws {
            while !unhandled.isEmpty { handle(at: 0) }
            leave(carriesFrames: true)
            promote(waiting.count)
            lastComposed = lastSequence
            leave(carriesFrames: false, isLast: true)
            guard window.lastReceived > 0 else { return }
            let last = try #require(last)
            #expect(last.mark == window.lastReceived)
            #expect(last.after <= lastSequence)
        }
    }
}

extension Acknowledgement {
    fileprivate func covers(_ sequence: UInt64) -> Bool {
        mark >= sequence || ranges.contains { $0.asWritten.contains(sequence) }
    }
}
