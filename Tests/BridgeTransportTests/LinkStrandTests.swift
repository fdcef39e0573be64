import BridgePlatform
import Locks
import Synchronization
import TestSupport
import Testing

@testable import BridgeTransport

/// The hand-off of a link's reading from a thread in slow handlers to another thread, without a link.
@Suite("The strand of a link", .serialized, .timeLimit(.minutes(5)))
struct LinkStrandTests {
    /// Far more by hand.
    private static let events = rounds(2_000, atLeast: 500)

    @Test(
        "one thread reads and one is in the strand at a time, in order, though every handler is taken for slow just when it ends"
    )
    func handedOverAllTheTime() throws {
        let random = SeededGenerator.announced()
        let readers = LaneReaders(events: UInt64(Self.events), random: random)
        try readers.run()
        #expect(readers.problems.value == [], "seed \(random.seed)")
        #expect(readers.handled == UInt64(Self.events), "seed \(random.seed)")
        // Otherwise nothing was handed over.
        #expect(readers.turns > 0)
    }
}

/// Two threads that read in turns as those of a link do, and a third that takes every handler for slow.
private final class LaneReaders: @unchecked Sendable {
    // Sendable: `read` belongs to the thread whose turn it is, `handled` and `random` to the thread in the strand, so
    // the thread sanitizer would find two at once; the test reads both when all threads have ended.
    private let strand = LinkStrand()
    private let events: UInt64
    private var random: SeededGenerator
    private var read: UInt64 = 0
    private let turnsTaken = Atomic<Int>(0)
    /// The last event whose handler was reported slow.
    private let told = Atomic<UInt64>(0)
    private(set) var handled: UInt64 = 0
    private let isReading = Atomic<Bool>(false)
    private let isHandling = Atomic<Bool>(false)
    private let isFinished = Atomic<Bool>(false)
    let problems = Shared<[String]>([])

    var turns: Int { turnsTaken.load(ordering: .relaxed) }

    init(events: UInt64, random: SeededGenerator) {
        self.events = events
        self.random = random
    }

    func run() throws {
        let first = try PlatformThread.startJoinable(name: "first") { self.read(turn: 0) }
        var second: PlatformThread?
        while !isFinished.load(ordering: .acquiring) {
            let now = strand.blockingNow
            guard now != 0 else { continue }
            switch strand.relieve(now) {
            case .told: told.store(now, ordering: .relaxed)
            case .needsThread:
                guard second == nil else {
                    note("a third thread was asked for")
                    strand.threadIsMissing()
                    continue
                }
                second = try PlatformThread.startJoinable(name: "second") {
                    if let turn = self.takeTurn() { self.read(turn: turn) }
                }
            case .none: continue
            }
        }
        first.join()
        second?.join()
    }

    private func read(turn first: Int) {
        var turn = first
        while true {
            if isReading.exchange(true, ordering: .relaxed) { note("two threads read at once") }
            if read == events {
                strand.close()
                isFinished.store(true, ordering: .releasing)
                return
            }
            read += 1
            let sequence = read
            isReading.store(false, ordering: .relaxed)
            strand.eventArrived(sequence)
            if strand.enter() {
                handle(sequence)
                strand.leave()
            } else {
                strand.append { self.handle(sequence) }
            }
            guard strand.isLost(turn) else { continue }
            strand.workOff()
            guard let next = takeTurn() else { return }
            turn = next
        }
    }

    private func takeTurn() -> Int? {
        let turn = strand.waitForTurn()
        if turn != nil { turnsTaken.wrappingAdd(1, ordering: .relaxed) }
        return turn
    }

    private func handle(_ sequence: UInt64) {
        if isHandling.exchange(true, ordering: .relaxed) { note("two threads were in the strand at once") }
        handled += 1
        if sequence != handled { note("event \(sequence) was handled where \(handled) was expected") }
        endWhenTaken(sequence)
        isHandling.store(false, ordering: .relaxed)
    }

    /// Returns at about the moment in which the other thread, which was just told, wakes up and takes the turn.
    private func endWhenTaken(_ sequence: UInt64) {
        if sequence == 1 {
            // Wait until it is taken: on a busy machine, by chance alone no turn might be taken.
            let deadline = MonotonicClock.now() + 60_000_000_000
            while turns == 0, MonotonicClock.now() < deadline { yieldThread() }
            return
        }
        let patience = MonotonicClock.now() + 100_000
        while told.load(ordering: .relaxed) != sequence, MonotonicClock.now() < patience {}
        let end = MonotonicClock.now() + UInt64.random(in: 0...40_000, using: &random)
        while MonotonicClock.now() < end {}
    }

    private func note(_ problem: String) {
        problems.change { if $0.count < 5 { $0.append(problem) } }
    }
}
