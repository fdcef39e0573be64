import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks
import TestSupport
import Testing

@testable import Journal

/// Hosts that are killed, and their successors: a copy of the journal's directory at one moment is what a successor
/// would find that is started after a kill at that moment.
@Suite("What a killed host owed to its workers")
struct RecoveryTests {
    /// What workers have got, in order.
    private final class Got: @unchecked Sendable {
        // Sendable: everything mutable is guarded by `lock`.
        private let lock = Lock()
        private var got: [String] = []
        var all: [String] { lock.withLock { got } }
        func note(_ number: Int) {
            let context = EventContext.current
            lock.withLock { got.append("\(number)/\(context?.attempt ?? 0)") }
        }
        func clear() { lock.withLock { got = [] } }
    }

    private struct Failed: Error {}

    /// Holds handlers until it is opened.
    private final class Gate: Sendable {
        private let baton = Baton()
        func pass() {
            baton.take()
            baton.handOver()
        }
        func open() { baton.handOver() }
    }

    /// A host whose journal lies in a directory, until it is abandoned.
    private struct Life {
        let publisher = EventPublisher()
        let journal: EventJournal
        let bridge: BridgeHost

        init(
            _ scratch: ScratchJournal,
            retention: JournalRetention = .everything,
            _ workers: [InMemoryWorker]
        ) async throws {
            journal = try scratch.open(retention: retention)
            try journal.record(Counted.self, of: publisher)
            try journal.record(Colored.self, of: publisher)
            bridge = try await BridgeHost.inMemory(publisher, workers: workers)
        }

        func end() async {
            await bridge.shutdown()
            await journal.close()
        }

        /// Ends the host as a kill does; unlike a kill, it still notes what was settled when the links end.
        func kill() async {
            bridge.abandon()
            await journal.close()
        }
    }

    private static func worker(
        _ name: String,
        pool: WorkerPool? = nil,
        onDemand: OnDemand? = nil,
        _ handler: @escaping @Sendable (Int) throws -> Void
    ) -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [Counted.self], onDemand: onDemand, pool: pool) { publisher in
            [publisher.subscribe(to: Counted.self) { try handler($0.number) }]
        }
    }

    @Test("J2: killed before a worker gets an event, the host's successor delivers it, marked", .timeLimit(.minutes(2)))
    func recorded() async throws {
        let scratch = try ScratchJournal()
        // The publish returns while the handlers of the two events before are not begun: the copy has all three.
        let gate = Gate()
        let first = try await Life(scratch, [Self.worker("a") { _ in gate.pass() }])
        for number in 1...3 { first.publisher.publish(Counted(number: number)) }
        let copy = try scratch.copied()
        gate.open()
        await first.kill()

        let got = Got()
        let second = try await Life(copy, [Self.worker("a") { got.note($0) }])
        second.publisher.publish(Counted(number: 4))
        await second.bridge.waitUntilIdle()
        #expect(got.all == ["1/2", "2/2", "3/2", "4/1"])
        await second.end()

        // All is settled and noted: the next host has nothing left.
        got.clear()
        let third = try await Life(copy, [Self.worker("a") { got.note($0) }])
        await third.bridge.waitUntilIdle()
        #expect(got.all.isEmpty)
        await third.end()
    }

    @Test(
        "J2: killed while an event is handled, or while its successor delivers it, it comes again with higher attempts",
        .timeLimit(.minutes(2))
    )
    func handling() async throws {
        var scratch = try ScratchJournal()
        var expected = 1
        for round in 1...4 {
            let (got, copies) = (Got(), Copies(of: scratch))
            let life = try await Life(
                scratch,
                [
                    Self.worker("a") { number in
                        got.note(number)
                        copies.take()
                    }
                ]
            )
            if round == 1 { life.publisher.publish(Counted(number: 7)) }
            await life.bridge.waitUntilIdle()
            #expect(got.all == ["7/\(expected)"])
            await life.kill()
            scratch = try #require(copies.first)
            expected += 1
        }
    }

    /// Takes a copy of a directory the first time that it is asked to.
    private final class Copies: @unchecked Sendable {
        // Sendable: everything mutable is guarded by `lock`.
        private let lock = Lock()
        private let scratch: ScratchJournal
        private var taken: ScratchJournal?
        init(of scratch: ScratchJournal) { self.scratch = scratch }
        var first: ScratchJournal? { lock.withLock { taken } }
        func take() {
            let copy = try? scratch.copied()
            lock.withLock { if taken == nil { taken = copy } }
        }
    }

    @Test("J22: killed when one receiver has settled an event, only the other gets it again", .timeLimit(.minutes(5)))
    func oneOfTwo() async throws {
        let scratch = try ScratchJournal()
        let gate = Gate()
        let first = try await Life(scratch, [Self.worker("a") { _ in }, Self.worker("b") { _ in gate.pass() }])
        first.publisher.publish(Counted(number: 1))
        while first.bridge.leftovers.contains(where: { $0.worker == "a" }) { await Task.yield() }
        while try await Self.owed(scratch) != ["1 b"] { await Task.yield() }
        let copy = try scratch.copied()
        gate.open()
        await first.kill()

        let (a, b) = (Got(), Got())
        let second = try await Life(copy, [Self.worker("a") { a.note($0) }, Self.worker("b") { b.note($0) }])
        await second.bridge.waitUntilIdle()
        #expect(a.all.isEmpty && b.all == ["1/2"])
        await second.end()
    }

    @Test(
        "An event that is recorded at once is owed as any other, also if its record is like those before it",
        .timeLimit(.minutes(1))
    )
    func recordedAtOnce() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let line = JournalLine("Counted", of: journal.core)
        let source = EventSource(origin: "host", incarnation: 1)
        for number in UInt64(1)...6 {
            let context = BorrowedContext(source: .passUnretained(source), number: number, nanosecondsSinceEpoch: 1)
            let owed = [OwedReceiver(name: "a", isSpecified: true)]
            let isRecorded = [UInt8(0xF6)].withUnsafeBytes { line.recordAtOnce($0, context: context, owed: owed) }
            #expect(isRecorded)
        }
        withExtendedLifetime(source) {}
        #expect(try await Self.owed(scratch) == (1...6).map { "\($0) a" })
        #expect(journal.core.lock.withLock { journal.core.custody.lowestPosition } == 1)
        await journal.close()
    }

    /// What a successor would find owed: the numbers of events, and receivers.
    private static func owed(_ scratch: ScratchJournal) async throws -> [String] {
        let journal = try scratch.copied().open()
        let owed = journal.core.takeOwed().map { "\($0.context.id.number) \($0.receiver.name)" }
        await journal.close()
        return owed
    }

    @Test(
        "J14: events of a renamed or removed worker, and of a name that it no longer wants, become dead letters",
        .timeLimit(.minutes(2))
    )
    func gone() async throws {
        let scratch = try ScratchJournal()
        let gate = Gate()
        let first = try await Life(
            scratch,
            [Self.worker("a") { _ in gate.pass() }, Self.worker("b") { _ in gate.pass() }]
        )
        first.publisher.publish(Counted(number: 1))
        let copy = try scratch.copied()
        gate.open()
        await first.kill()

        let got = Got()
        for round in 1...2 {
            let second = try await Life(
                copy,
                [
                    InMemoryWorker("a", subscribes: [Colored.self]) { publisher in
                        [publisher.subscribe(to: Colored.self) { _ in }]
                    },
                    Self.worker("c") { got.note($0) },
                ]
            )
            await second.bridge.waitUntilIdle()
            // In the second round the letters are restored as they were.
            let letters = second.bridge.deadLetters
            #expect(letters.map(\.worker) == ["a", "b"], "\(round)")
            #expect(letters.map(\.id) == [1, 2])
            #expect(
                letters.map(\.reasons) == [
                    ["worker \"a\" does not subscribe to Counted any more since the host was started again"],
                    ["there is no worker \"b\" any more since the host was started again"],
                ]
            )
            #expect(got.all.isEmpty)
            await second.kill()
        }
        // A worker of the old name gets its letter when it is put back, and the journal forgets it when it is handled.
        let third = try await Life(copy, [Self.worker("b") { got.note($0) }])
        #expect(try third.bridge.redeliver(2))
        #expect(third.bridge.discardDeadLetter(1))
        await third.bridge.waitUntilIdle()
        #expect(got.all == ["1/2"])
        await third.end()
        #expect(try await Self.owed(copy).isEmpty)
    }

    @Test(
        "J14: a pool that was resized between hosts gets all that was owed to it, and nothing twice",
        .timeLimit(.minutes(3))
    )
    func resized() async throws {
        var scratch = try ScratchJournal()
        let numbers = Array(1...40)
        for size in [4, 2, 5] {
            let pool = WorkerPool(size, keys: ["Counted": .field("number")])
            let gate = Gate()
            let held = size < 5
            let got = Got()
            let life = try await Life(
                scratch,
                [
                    Self.worker("pool", pool: pool) { number in
                        if held { gate.pass() }
                        got.note(number)
                    }
                ]
            )
            if size == 4 { for number in numbers { life.publisher.publish(Counted(number: number)) } }
            if held {
                let copy = try scratch.copied()
                gate.open()
                await life.kill()
                scratch = copy
            } else {
                await life.bridge.waitUntilIdle()
                #expect(got.all.sorted() == numbers.map { "\($0)/3" }.sorted())
                #expect(life.bridge.deadLetters.isEmpty)
                await life.end()
            }
        }
        #expect(try await Self.owed(scratch).isEmpty)
    }

    @Test(
        "An event that a worker refused is a dead letter of the successor, too, and is owed to no worker",
        .timeLimit(.minutes(2))
    )
    func refused() async throws {
        let scratch = try ScratchJournal()
        let first = try await Life(scratch, [Self.worker("a") { _ in throw Failed() }])
        first.publisher.publish(Counted(number: 1))
        await first.bridge.waitUntilIdle()
        let letter = try #require(first.bridge.deadLetters.first)
        await first.kill()
        let got = Got()
        let second = try await Life(scratch, [Self.worker("a") { got.note($0) }])
        await second.bridge.waitUntilIdle()
        let restored = try #require(second.bridge.deadLetters.first)
        #expect(second.bridge.deadLetters.count == 1 && got.all.isEmpty)
        #expect(restored == letter)
        await second.end()
    }

    @Test("A worker that runs on demand is started for what an earlier host owed it", .timeLimit(.minutes(2)))
    func onDemand() async throws {
        let scratch = try ScratchJournal()
        let gate = Gate()
        let first = try await Life(scratch, [Self.worker("a", onDemand: OnDemand()) { _ in gate.pass() }])
        first.publisher.publish(Counted(number: 1))
        let copy = try scratch.copied()
        gate.open()
        await first.kill()
        let got = Got()
        let second = try await Life(copy, [Self.worker("a", onDemand: OnDemand()) { got.note($0) }])
        await second.bridge.waitUntilIdle()
        #expect(got.all == ["1/2"])
        await second.end()
    }

    @Test(
        "Notes that find no segment wait for it, without a thread that waits, and are not lost",
        .timeLimit(.minutes(2))
    )
    func notesWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let core = journal.core
        let source = EventSource(origin: "host", incarnation: 1)
        let owed = [OwedReceiver(name: "a", isSpecified: true)]
        let total: UInt64 = 2_000
        for number in 1...total {
            let context = EventContext(id: EventID(source: source, number: number), nanosecondsSinceEpoch: 0)
            core.makeRoom(for: 1)
            _ = try core.append([0], name: "Counted", context: context, owed: owed, whenSettled: nil)
        }
        // Under the lock the journal's thread makes no segment, so most of these notes find no room.
        core.lock.withLock {
            for number in 1...total {
                core.take(.settled(source: source, ranges: [number...number], by: NotedReceiver(name: "a")))
            }
        }
        while core.lock.withLock({ !core.unwritten.isEmpty }) { await Task.yield() }
        #expect(core.lock.withLock { core.custody.isEmpty })
        await journal.close()
        #expect(try await Self.owed(scratch).isEmpty)
    }

    @Test("No segment with an owed event is removed, whatever the retention", .timeLimit(.minutes(2)))
    func retention() async throws {
        let scratch = try ScratchJournal()
        let gate = Gate()
        let retention = JournalRetention(bytes: 128 << 10)
        let first = try await Life(
            scratch,
            retention: retention,
            [Self.worker("a") { number in if number == 1 { gate.pass() } }]
        )
        for number in 1...3_000 {
            first.publisher.publish(Counted(number: number, text: String(repeating: "x", count: 100)))
        }
        #expect(first.journal.status.firstPosition == 1)
        let copy = try scratch.copied()
        #expect(try await Self.owed(copy).count == 3_000)
        try copy.overwrite(SegmentCatalog.fileName(of: 1), at: 0, with: [UInt8](repeating: 0, count: 72))
        #expect(try await Self.owed(copy).count == 3_000, "the oldest segment has lost its head")
        gate.open()
        await first.bridge.waitUntilIdle()
        for number in 3_001...6_000 {
            let event = Counted(number: number, text: String(repeating: "x", count: 100))
            _ = try await first.publisher.deliver(event, within: .seconds(60))
        }
        await first.bridge.waitUntilIdle()
        await first.journal.waitForSpare()
        #expect(first.journal.status.firstPosition > 3_000)
        await first.end()
    }
}
