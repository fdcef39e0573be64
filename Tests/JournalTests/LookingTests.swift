import BridgePlatform
import DomainEvents
import Locks
import Testing

@testable import Journal

@Suite("Looking at the files of a journal")
struct LookingTests {
    /// Everything that a cursor without a horizon finds: the reported gaps, and the position that it has reached.
    private static func look(at storage: StaleStorage, _ prepare: () -> Void) throws -> (gaps: [JournalGap], UInt64) {
        let catalog = try SegmentCatalog(of: storage, at: "test", skipsUnreadable: false)
        let cursor = JournalCursor(storage, at: "test", after: 0, filter: .nothing, skipsUnreadable: false)
        prepare()
        var gaps: [JournalGap] = []
        repeat {
            for case .gap(let gap) in try cursor.read(to: .init(catalog: catalog, end: nil)) { gaps.append(gap) }
        } while cursor.ending == nil
        return (gaps, cursor.position)
    }

    /// A journal with 40 events that is still being written, and the end of the file's records.
    private static func living() async throws -> (EventJournal, ScratchJournal, end: Int) {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<40 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        await journal.waitForSpare()
        return (journal, scratch, journal.core.lock.withLock { journal.core.state.safe.offset })
    }

    @Test("J27: what is being written while it is read is not told as damage", .timeLimit(.minutes(1)))
    func hole() async throws {
        let (journal, scratch, end) = try await Self.living()
        let storage = try StaleStorage(at: scratch.path)
        // A record before others that were read later, the second half of the last record, and all of the last records.
        for hole in [20_000..<20_600, (end - 500)..<end, (end - 5_000)..<end] {
            let (gaps, position) = try Self.look(at: storage) { storage.hideNext(hole) }
            #expect(gaps.isEmpty, "\(hole)")
            #expect(position == 40, "\(hole)")
        }
        await journal.close()
    }

    @Test("J27: a journal that is closed while it is read is not told as cut", .timeLimit(.minutes(1)))
    func closed() async throws {
        let (journal, scratch, end) = try await Self.living()
        await journal.close()
        let storage = try StaleStorage(at: scratch.path)
        let (gaps, position) = try Self.look(at: storage) {
            storage.lengthenNext(to: 64 << 10)
            storage.hideNext(end..<(end + 48))
        }
        #expect(gaps.isEmpty)
        #expect(position == 40)
    }

    @Test("J27: a segment that is begun while it is read is not told as damaged", .timeLimit(.minutes(1)))
    func begun() async throws {
        let (journal, scratch, _) = try await Self.living()
        let storage = try StaleStorage(at: scratch.path)
        for hole in [0..<8, 16..<24] {
            storage.hideNext(hole)
            let catalog = try SegmentCatalog(of: storage, at: "test", skipsUnreadable: false)
            #expect(catalog.segments.map(\.mistake) == [nil], "\(hole)")
        }
        await journal.close()
    }

    @Test("J27: damage that stays is told once", .timeLimit(.minutes(1)))
    func damage() async throws {
        let (journal, scratch, _) = try await Self.living()
        try scratch.overwrite(SegmentCatalog.fileName(of: 1), at: 20_000, with: [0xFF])
        let (gaps, position) = try Self.look(at: try StaleStorage(at: scratch.path)) {}
        #expect(gaps.count == 1)
        #expect(position == 40)
        await journal.close()
    }

    @Test("A file that goes while the directory is listed is no reason not to read the others", .timeLimit(.minutes(1)))
    func removedWhileListed() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<200 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        await journal.close()
        let storage = try FaultyStorage(at: scratch.path)
        storage.removeAfterListing(SegmentCatalog.fileName(of: 1))
        #expect(try SegmentCatalog(of: storage, at: "test", skipsUnreadable: false).segments.first?.number == 2)
    }

    // MARK: - Portions

    private static let large = String(repeating: "x", count: 50_000)

    @Test("A reader takes no more than a few large events into memory at once", .timeLimit(.minutes(2)))
    func largeEvents() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        for number in 0..<200 { publisher.publish(Counted(number: number, text: Self.large)) }
        let before = storage.bytesRead
        var iterator = journal.events(of: Counted.self, after: 0).makeAsyncIterator()
        #expect(try await iterator.next() != nil)
        #expect(storage.bytesRead - before <= 2 << 20)
        #expect(try await journal.numbers().found == Array(0..<200))
        await journal.close()
    }

    @Test("A reader that finds nothing it wants stops soon after its task is cancelled", .timeLimit(.minutes(2)))
    func cancelled() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        for number in 0..<200 { publisher.publish(Counted(number: number, text: Self.large)) }
        let before = storage.bytesRead
        let (begun, baton) = (DoneFlag(), Baton())
        storage.onNextReading {
            begun.set()
            baton.take()
        }
        var query = JournalQuery()
        query.origin = "elsewhere"
        let wanted = query
        let reading = Task {
            for try await _ in journal.records(after: 0, where: wanted) { Issue.record("something") }
        }
        await begun.wait()
        reading.cancel()
        baton.handOver()
        try await reading.value
        #expect(storage.bytesRead - before <= 2 << 20)
        await journal.close()
    }
}
