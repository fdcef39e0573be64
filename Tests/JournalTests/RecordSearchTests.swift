import BridgePlatform
import DomainEvents
import Locks
import Testing

@testable import Journal

/// What a host asks that finds the outbox of a killed worker.
@Suite("The newest record of some events", .timeLimit(.minutes(2)))
struct RecordSearchTests {
    private static func event(
        _ number: UInt64,
        incarnation: UInt64 = 7,
        time: UInt64 = 0,
        attempt: Int = 1
    ) -> EventContext {
        let id = EventID(origin: "a", incarnation: incarnation, number: number)
        return EventContext(id: id, nanosecondsSinceEpoch: time, attempt: attempt)
    }

    /// Records events as a redelivery or a recovery does: with an attempt that is higher than that of their frames.
    private static func again(_ numbers: [UInt64], _ journal: EventJournal) throws {
        for number in numbers {
            _ = try journal.core.append([0xA0], name: "Counted", context: event(number, attempt: 2), whenSettled: nil)
        }
    }

    /// Records events of another worker, one event of the worker "a" after each hundred.
    private static func fill(_ journal: EventJournal, upTo count: UInt64) throws {
        let payload = [UInt8](repeating: 0x61, count: 500)
        for number in 1...count {
            let origin = number % 100 == 0 ? "a" : "b"
            let id = EventID(origin: origin, incarnation: 7, number: origin == "a" ? number / 100 : number)
            _ = try journal.core.append(
                payload,
                name: "Counted",
                context: EventContext(id: id, nanosecondsSinceEpoch: 1),
                whenSettled: nil
            )
        }
    }

    @Test("J21: it is found in whichever segment it lies, whatever the clock says, and events without a record are not")
    func search() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try Self.fill(journal, upTo: 1_000)
        #expect(journal.status.segments > 4)
        let core = journal.core
        let now = UInt64.max
        for time in [0, 1, now] {
            // The events 1 to 10 have a record, the others have none.
            let newest = try core.lastRecorded(of: (1...13).map { Self.event($0, time: time) }, after: 0)
            #expect(newest?.id.number == 10)
            let older = try core.lastRecorded(of: (1...3).map { Self.event($0, time: time) }, after: 0)
            #expect(older?.id.number == 3)
            #expect(try core.lastRecorded(of: [Self.event(2, time: time), Self.event(11)], after: 0)?.id.number == 2)
            #expect(try core.lastRecorded(of: [Self.event(11, time: time)], after: 0) == nil)
            #expect(try core.lastRecorded(of: [Self.event(3, incarnation: 8, time: time)], after: 0) == nil)
        }
        #expect(try core.lastRecorded(of: [], after: 0) == nil)
        // Event 3 has position 300.
        #expect(try core.lastRecorded(of: [Self.event(3)], after: 299)?.id.number == 3)
        #expect(try core.lastRecorded(of: [Self.event(3)], after: 300) == nil)
        await journal.close()
        #expect(core.outboxDirectory == nil)
    }

    @Test("J21: the record of a redelivered dead letter hides no newer one, and those of a killed recovery count")
    func recordedAgain() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try Self.fill(journal, upTo: 1_000)
        let core = journal.core
        func newest(_ numbers: ClosedRange<UInt64>, after position: UInt64 = 0) throws -> UInt64? {
            try core.lastRecorded(of: numbers.map { Self.event($0) }, after: position)?.id.number
        }
        try Self.again([3, 5], journal)
        #expect(try newest(1...13) == 10)
        #expect(try newest(1...7) == 7)
        // The record of the first attempt is the last one before the search's end.
        #expect(try newest(1...3, after: 299) == 3)
        // No other record is there to be found.
        #expect(try newest(1...3, after: 300) == 3)
        try Self.again([11, 12], journal)
        #expect(try newest(1...13) == 12)
        try Self.again([4], journal)
        #expect(try newest(1...13) == 12)
        await journal.close()
    }

    @Test("J21: the record of an imported event is found only by the worker and bookmark that its import had")
    func imported() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let core = journal.core
        let now = UInt64.max
        func imported(_ bookmark: String?, by worker: String = "a", time: UInt64 = 0) -> EventContext {
            let id = EventID(origin: "berlin/host", incarnation: 6, number: 50)
            let mark = bookmark.map { WorkerBookmark(EventBookmark($0), of: worker) }
            return EventContext(id: id, nanosecondsSinceEpoch: time, bookmark: mark)
        }
        for context in [imported("1"), imported("2", by: "b"), imported(nil)] {
            _ = try core.append([0xA0], name: "Counted", context: context, whenSettled: nil)
        }
        for time in [0, 1, now] {
            // The newest event is looked for apart from the others.
            #expect(try core.lastRecorded(of: [imported("1", time: time)], after: 0) != nil)
            #expect(try core.lastRecorded(of: [imported("1"), imported("3", time: time)], after: 0) != nil)
            #expect(try core.lastRecorded(of: [imported("2", time: time)], after: 0) == nil)
            #expect(try core.lastRecorded(of: [imported("3", time: time)], after: 0) == nil)
        }
        await journal.close()
    }

    @Test("J21: a record that is not safe yet is waited for, as a host before this one may have left it")
    func unsafeRecord() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        await journal.waitForSpare()
        let baton = Baton()
        storage.holdSynchronization(by: baton)
        _ = try journal.core.append([0xA0], name: "Counted", context: Self.event(1), whenSettled: nil)
        #expect(journal.status.safePosition == 0)
        let search = Task {
            try await withCheckedThrowingContinuation { found in
                // The search blocks its thread.
                do {
                    try PlatformThread.start(name: "search") {
                        found.resume(with: Result { try journal.core.lastRecorded(of: [Self.event(1)], after: 0) })
                    }
                } catch {
                    found.resume(throwing: error)
                }
            }
        }
        // The search asks for the synchronization, which begins and waits.
        while !storage.isSynchronizationHeld { await Task.yield() }
        baton.handOver()
        #expect(try await search.value?.id.number == 1)
        await journal.close()
    }

    @Test("J21: if retention has removed what may have had a record, the search fails instead of finding none")
    func removed() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try Self.fill(journal, upTo: 1_000)
        await journal.close()
        // Event 1 has position 100, and a segment has room for fewer than 130 of these events.
        for name in try scratch.segments.prefix(2) { try scratch.files.remove(name) }
        let again = try scratch.open()
        let core = again.core
        #expect(throws: JournalError.self) { try core.lastRecorded(of: [Self.event(1)], after: 0) }
        #expect(throws: JournalError.self) { try core.lastRecorded(of: [Self.event(11)], after: 0) }
        // A later event has a record, or all is there that may have one.
        #expect(try core.lastRecorded(of: [Self.event(1), Self.event(9), Self.event(11)], after: 0)?.id.number == 9)
        #expect(try core.lastRecorded(of: [Self.event(11)], after: 500) == nil)
        // A record of a higher attempt does not say that no newer event had a record.
        try Self.again([1], again)
        #expect(throws: JournalError.self) { try core.lastRecorded(of: [Self.event(1), Self.event(11)], after: 0) }
        #expect(try core.lastRecorded(of: [Self.event(1), Self.event(11)], after: 500)?.id.number == 1)
        await again.close()
    }

    @Test("J21: if a damaged record may be the one that is looked for, the search fails instead of finding none")
    func damaged() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try Self.fill(journal, upTo: 1_000)
        let core = journal.core
        // The damage lies behind position 100 of event 1, and before position 200 of event 2.
        try scratch.overwrite(SegmentCatalog.fileName(of: 2), at: 20_000, with: [0xFF])
        #expect(throws: JournalError.self) { try core.lastRecorded(of: [Self.event(11)], after: 0) }
        #expect(throws: JournalError.self) { try core.lastRecorded(of: [Self.event(1), Self.event(11)], after: 0) }
        #expect(try core.lastRecorded(of: [Self.event(2), Self.event(11)], after: 0)?.id.number == 2)
        #expect(try core.lastRecorded(of: [Self.event(11)], after: 500) == nil)
        // A record of a higher attempt does not say that no newer event had a record.
        try Self.again([1], journal)
        #expect(throws: JournalError.self) { try core.lastRecorded(of: [Self.event(1), Self.event(11)], after: 0) }
        #expect(try core.lastRecorded(of: [1, 2, 11].map { Self.event($0) }, after: 0)?.id.number == 2)
        await journal.close()
    }
}
