import DomainEvents
import JournalFormat
import Locks
import Testing

@testable import Journal

/// The events of these tests fill two segments and a part of the third one.
///
/// The first portion ends with the first segment, and its reading opens the second one. So the reading ahead opens the
/// third one.
@Suite("Reading ahead in a journal")
struct ReadingAheadTests {
    private static let count = 400
    /// How many events a portion has at most.
    private static let portion = 1_024
    private static let text = String(repeating: "x", count: 300)

    private static func journal(
        on storage: FaultyStorage,
        retention: JournalRetention = .everything
    ) throws -> (EventJournal, EventPublisher) {
        var settings = JournalCore.Settings()
        settings.retention = retention
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publish(0..<count, publisher)
        return (journal, publisher)
    }

    /// A cursor that reads all events, from the first one on.
    private static func cursor(on storage: FaultyStorage) -> JournalCursor {
        JournalCursor(storage, at: "test", after: 0, filter: RecordFilter(JournalQuery()), skipsUnreadable: false)
    }

    /// The position of the first event of a segment.
    private static func first(ofSegmentAt index: Int, _ journal: EventJournal) throws -> UInt64 {
        try #require(journal.core.horizon.0.catalog.segments[index].head).firstPosition
    }

    private static func publish(_ numbers: Range<Int>, _ publisher: EventPublisher) {
        for number in numbers { publisher.publish(Counted(number: number, text: text)) }
    }

    /// A reading ahead that waits before it opens the third segment.
    private struct HeldReading {
        let isHeld = DoneFlag()
        let baton = Baton()

        init(on storage: FaultyStorage) {
            let (isHeld, baton) = (isHeld, baton)
            storage.onNextOpening {
                storage.onNextOpening {
                    storage.onNextOpening {
                        isHeld.set()
                        baton.take()
                    }
                }
            }
        }
    }

    @Test("Retention that overtakes the reading ahead makes a gap behind what was read", .timeLimit(.minutes(2)))
    func overtaken() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try Self.journal(on: storage, retention: JournalRetention(bytes: 8 * (64 << 10)))
        let third = try Self.first(ofSegmentAt: 2, journal)
        let held = HeldReading(on: storage)
        var iterator = journal.events(of: Counted.self, after: 0).makeAsyncIterator()
        var reached: UInt64 = 0
        var gaps: [JournalGap] = []
        var isReleased = false
        while reached < 5_000, let step = try await iterator.next() {
            switch step {
            case .event(let entry):
                #expect(entry.position == reached + 1 && entry.event.number == Int(reached))
                reached = entry.position
            case .gap(let gap):
                #expect(gap.positions?.lowerBound == reached + 1)
                reached += gap.count
                gaps.append(gap)
            }
            if isReleased { continue }
            isReleased = true
            await held.isHeld.wait()
            Self.publish(Self.count..<5_000, publisher)
            while try scratch.segments.contains(SegmentCatalog.fileName(of: 3)) { await Task.yield() }
            held.baton.handOver()
        }
        #expect(reached == 5_000)
        #expect(!gaps.isEmpty && gaps.allSatisfy { $0.reason == .removed })
        #expect(gaps.first?.positions?.lowerBound == third)
        await journal.close()
    }

    @Test(
        "An error is told once, behind what was read before it, and not if only the reading ahead met it",
        .timeLimit(.minutes(1)),
        arguments: [2, 3]
    )
    func failure(failures: Int) async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try Self.journal(on: storage)
        // The first failure ends a portion, the second one is met ahead, and the third one when the reader asks.
        storage.failNextOpenings(failures, after: 2)
        var iterator = journal.events(of: Counted.self, after: 0, follows: false).makeAsyncIterator()
        var (found, errors): ([Int], [Int]) = ([], [])
        while found.count < Self.count, errors.count < 3 {
            do {
                guard case .event(let entry)? = try await iterator.next() else { break }
                found.append(entry.event.number)
            } catch {
                errors.append(found.count)
            }
        }
        #expect(found == Array(0..<Self.count))
        let read = Int(try Self.first(ofSegmentAt: 2, journal) - 1)
        #expect(errors == [Int](repeating: read, count: failures - 2))
        #expect(try await iterator.next() == nil)
        await journal.close()
    }

    @Test("A read that fails between two windows is tried again, and nothing is missing", .timeLimit(.minutes(1)))
    func failedWindow() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.segmentBytes = 1 << 20
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<1_700 { publisher.publish(Counted(number: number, text: Self.text)) }
        let horizon = journal.core.horizon.0
        // The second failure leaves less than a whole window.
        for failing in 1...2 {
            let cursor = Self.cursor(on: storage)
            // Kept, as by a reader and its reading ahead.
            var kept: [StoredSteps] = []
            var errors = 0
            repeat {
                do throws(JournalError) {
                    kept.append(try cursor.read(to: horizon))
                    if kept.count == failing, errors == 0 { storage.failNextReads(1) }
                } catch {
                    errors += 1
                }
            } while !cursor.isAtEnd
            var found: [UInt64] = []
            for var steps in kept {
                while let step = steps.next() {
                    guard case .record(let record) = step else {
                        Issue.record("\(step)")
                        continue
                    }
                    found.append(steps.copy(record).position)
                }
            }
            #expect(errors == 1)
            #expect(found.elementsEqual(1...1_700), "\(found.count) found")
        }
        await journal.close()
    }

    @Test("Records that lie in two windows, and one that is larger than a window, are read", .timeLimit(.minutes(1)))
    func windows() async throws {
        func event(_ number: Int) -> Counted {
            Counted(number: number, text: String(repeating: "x", count: number == 1_000 ? 400_000 : number * 37 % 900))
        }
        let count = 5_000
        let scratch = try ScratchJournal()
        let journal = try scratch.open(segmentBytes: 4 << 20)
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<count { publisher.publish(event(number)) }
        var next = 0
        for try await step in journal.events(of: Counted.self, after: 0, follows: false) {
            guard case .event(let entry) = step else {
                Issue.record("\(step)")
                break
            }
            #expect(entry.event == event(next) && entry.position == UInt64(next + 1))
            next += 1
        }
        #expect(next == count)
        next = 0
        for try await step in journal.records(after: 0, follows: false) {
            guard case .event(let record) = step else {
                Issue.record("\(step)")
                break
            }
            #expect(try record.event(as: Counted.self) == event(next))
            next += 1
        }
        #expect(next == count)
        await journal.close()
    }

    @Test("A reading ahead leaves the window of the portion before it, even if that portion is gone")
    func windowOfLostPortion() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try Self.journal(on: storage)
        let cursor = Self.cursor(on: storage)
        let horizon = journal.core.horizon.0
        /// Reads a portion, a whole segment here, and returns where its first payload lay.
        func portion(isAhead: Bool) throws -> UnsafeRawPointer? {
            var steps = try cursor.read(to: horizon, isAhead: isAhead)
            guard case .record(let record)? = steps.next() else { return nil }
            return record.payload.baseAddress
        }
        let first = try #require(try portion(isAhead: false))
        // The first records of both segments lie at the same place of a window.
        let second = try #require(try portion(isAhead: true))
        #expect(second != first)
        await journal.close()
    }

    @Test("A reader that is cancelled does not wait for the reading ahead, and loses nothing", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try Self.journal(on: storage)
        let held = HeldReading(on: storage)
        let reading = JournalReading(journal.core, JournalQuery(), after: 0, follows: false, checksPayloads: false)
        let isCancelled = DoneFlag()
        let first = Task {
            var count = 0
            while try await reading.readOn() {
                while reading.takeStep() != nil { count += 1 }
                await isCancelled.wait()
            }
            return count
        }
        await held.isHeld.wait()
        first.cancel()
        isCancelled.set()
        let portion = Int(try Self.first(ofSegmentAt: 1, journal) - 1)
        #expect(try await first.value == portion)
        held.baton.handOver()
        var rest = 0
        while try await reading.readOn() {
            while reading.takeStep() != nil { rest += 1 }
        }
        #expect(rest == Self.count - portion)
        await journal.close()
    }

    @Test("A reader may be released while it reads ahead", .timeLimit(.minutes(1)))
    func released() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try Self.journal(on: storage)
        let held = HeldReading(on: storage)
        for try await _ in journal.records(after: 0) { break }
        await held.isHeld.wait()
        held.baton.handOver()
        #expect(try await journal.numbers().found == Array(0..<Self.count))
        await journal.close()
    }

    @Test("A reader that read ahead to the end looks again before it ends", .timeLimit(.minutes(1)))
    func endAgain() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        // Without texts, they lie in one window.
        for number in 0..<Self.portion { publisher.publish(Counted(number: number)) }
        var found: [Int] = []
        for try await step in journal.events(of: Counted.self, after: 0, follows: false) {
            guard case .event(let entry) = step else { break }
            found.append(entry.event.number)
            // The reading ahead has begun, for a journal that has no more events.
            if found.count == 1 { publisher.publish(Counted(number: Self.portion)) }
        }
        #expect(found == Array(0...Self.portion))
        await journal.close()
    }
}
