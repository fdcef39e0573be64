import DomainEvents
import JournalFormat
import Locks
import Testing

@testable import Journal

/// Journals whose notes find no room: on a full disk, behind a segment that is still made, and at the close.
@Suite("What is owed, where notes have no room")
struct CustodyRoomTests {
    private static let source = EventSource(origin: "host", incarnation: 1)
    private static let a = NotedReceiver(name: "a")
    private static let owed = [OwedReceiver(name: "a", isSpecified: true)]

    private static func id(_ number: UInt64) -> EventID { EventID(source: source, number: number) }

    private static func settled(_ number: UInt64) -> CustodyNote {
        .settled(source: source, ranges: [number...number], by: a)
    }

    private static func record(_ journal: EventJournal, _ number: UInt64, bytes: Int = 1, isOwed: Bool) throws {
        let context = EventContext(id: id(number), nanosecondsSinceEpoch: 0)
        let payload = [UInt8](repeating: 0, count: bytes)
        journal.core.makeRoom(for: bytes)
        _ = try journal.core.append(
            payload,
            name: "Counted",
            context: context,
            owed: isOwed ? owed : [],
            whenSettled: nil
        )
    }

    /// Fills the present segment, and one that was made ahead, until a note waits: its event is unknown.
    private static func useUp(_ journal: EventJournal) {
        let core = journal.core
        for number in UInt64(1_000_000)... {
            do { try record(journal, number, bytes: 1_000, isOwed: false) } catch { break }
        }
        while core.lock.withLock({ core.unwritten.isEmpty }) {
            core.note(.strike(id(2_000_000), at: a, reason: "fills a segment"))
        }
    }

    private static func owed(_ scratch: ScratchJournal) async throws -> [UInt64] {
        let journal = try scratch.open()
        let owed = journal.core.takeOwed().map(\.context.id.number)
        await journal.close()
        return owed
    }

    @Test(
        "On a full disk a settled event holds its segment no longer, though its note waits for room",
        .timeLimit(.minutes(1))
    )
    func settledWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try FaultTests.journal(on: storage, whenFull: .removeOldest)
        try Self.record(journal, 1, isOwed: true)
        for number in UInt64(2)...200 { try Self.record(journal, number, bytes: 1_000, isOwed: false) }
        storage.setFull(true)
        Self.useUp(journal)
        #expect(journal.status.firstPosition == 1)
        journal.core.note(Self.settled(1))
        try #require(journal.core.lock.withLock { journal.core.custody.isEmpty })
        while journal.status.firstPosition == 1 {
            try Task.checkCancellation()
            _ = try? Self.record(journal, 3_000_000, isOwed: false)
            await Task.yield()
        }
        await journal.close()
    }

    @Test("On a full disk no note of a settled event is lost, however many wait", .timeLimit(.minutes(1)))
    func manyWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try FaultTests.journal(on: storage)
        let core = journal.core
        let total: UInt64 = 6_000
        for number in 1...total { try Self.record(journal, number, isOwed: true) }
        storage.setFull(true)
        Self.useUp(journal)
        for number in 1...total { core.note(Self.settled(number)) }
        storage.setFull(false)
        while core.lock.withLock({ !core.unwritten.isEmpty }) {
            try Task.checkCancellation()
            core.lock.withLock { core.writeNotes() }
            await Task.yield()
        }
        await journal.close()
        #expect(try await Self.owed(scratch).isEmpty)
    }

    @Test("A close looks for room once more, and then writes what waits", .timeLimit(.minutes(1)))
    func closingWithRoomAgain() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try FaultTests.journal(on: storage)
        try Self.record(journal, 1, isOwed: true)
        storage.setFull(true)
        Self.useUp(journal)
        journal.core.note(Self.settled(1))
        storage.setFull(false)
        await journal.close()
        #expect(try await Self.owed(scratch).isEmpty)
    }

    @Test("A close ends if there is still no room for what waits", .timeLimit(.minutes(1)))
    func closingWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try FaultTests.journal(on: storage)
        try Self.record(journal, 1, isOwed: true)
        storage.setFull(true)
        Self.useUp(journal)
        journal.core.note(Self.settled(1))
        await journal.close()
        #expect(try await Self.owed(scratch) == [1])
    }

    @Test("A note whose write finds no room is written later", .timeLimit(.minutes(1)), arguments: [false, true])
    func writeWithoutRoom(isAtClose: Bool) async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        let (journal, _) = try FaultTests.journal(on: storage)
        await journal.waitForSpare()
        for number in UInt64(1)...2 { try Self.record(journal, number, isOwed: true) }
        // The note is tried when it comes, and with those that wait.
        storage.failNextWrites(2)
        journal.core.note(Self.settled(1))
        #expect(journal.core.lock.withLock { !journal.core.unwritten.isEmpty })
        if !isAtClose { journal.core.note(Self.settled(2)) }
        await journal.close()
        #expect(try await Self.owed(scratch) == (isAtClose ? [2] : []))
    }

    @Test("An opening on a disk that stays full does not remove the whole history", .timeLimit(.minutes(1)))
    func openingStaysWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        for number in UInt64(1)...600 { try Self.record(journal, number, bytes: 1_000, isOwed: true) }
        await journal.close()
        let storage = try FaultyStorage(at: scratch.path)
        storage.setFull(true)
        #expect {
            _ = try FaultTests.journal(on: storage, whenFull: .removeOldest)
        } throws: { error in
            guard let error = error as? JournalError else { return false }
            return error.code == .full && error.description.contains("it has removed 2 of its oldest segments, with 1")
        }
        let owed = try await Self.owed(scratch)
        // Two segments' worth is removed at the most, in segments that are a little shorter.
        #expect(owed.count > 400 && owed.last == 600)
    }

    @Test(
        "A journal that may forget its oldest events is opened on a full disk, and hands over what was owed in them",
        .timeLimit(.minutes(1))
    )
    func openingWithoutRoom() async throws {
        let scratch = try ScratchJournal()
        var journal = try scratch.open()
        try Self.record(journal, 1, isOwed: true)
        for number in UInt64(2)...200 { try Self.record(journal, number, bytes: 1_000, isOwed: false) }
        try Self.record(journal, 201, isOwed: true)
        await journal.close()
        let storage = try FaultyStorage(at: scratch.path)
        storage.failNextFills(2)
        (journal, _) = try FaultTests.journal(on: storage, whenFull: .removeOldest)
        #expect(journal.status.firstPosition > 1 && journal.recovery.unprotectedEvents == 1)
        #expect(journal.core.takeOwed().map(\.context.id.number) == [1, 201])
        // What is no longer there keeps no later segment.
        journal.core.note(Self.settled(201))
        #expect(journal.core.lock.withLock { journal.core.custody.lowestPosition } == nil)
        await journal.close()
        #expect(try await Self.owed(scratch).isEmpty)
    }

    @Test("A journal reports the oldest event that is owed, and its age", .timeLimit(.minutes(1)))
    func oldest() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try Self.record(journal, 1, isOwed: false)
        #expect(journal.core.report.owedPosition == nil && journal.core.report.owedNanoseconds == nil)
        for number in UInt64(2)...3 { try Self.record(journal, number, isOwed: true) }
        #expect(journal.core.report.owedPosition == 2)
        // The events are of 1970.
        #expect(journal.core.report.owedNanoseconds ?? 0 > 1_000_000_000_000_000_000)
        journal.core.note(Self.settled(2))
        #expect(journal.core.report.owedPosition == 3)
        await journal.close()
        let again = try scratch.open()
        #expect(again.core.report.owedPosition == 3)
        #expect(again.core.report.owedNanoseconds ?? 0 > 1_000_000_000_000_000_000)
        again.core.note(Self.settled(3))
        #expect(again.core.report.owedPosition == nil)
        await again.close()
    }

    @Test("A dead letter with long reasons makes one segment at most, and is there again", .timeLimit(.minutes(1)))
    func longNote() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let core = journal.core
        try Self.record(journal, 1, isOwed: true)
        let reasons = (0..<64).map { "\($0) " + String(repeating: "x", count: NoteRecord.longestText) }
        core.note(
            .letter(
                NotedLetter(
                    event: Self.id(1),
                    receiver: Self.a,
                    number: 1,
                    cause: .crashes,
                    reasons: reasons,
                    strikes: 64,
                    attempts: 64,
                    nanosecondsSinceEpoch: 0
                )
            )
        )
        while core.lock.withLock({ !core.unwritten.isEmpty && core.catalog.segments.count < 5 }) {
            try Task.checkCancellation()
            await Task.yield()
        }
        #expect(journal.status.segments <= 2)
        await journal.close()
        let again = try scratch.open()
        let letter = try #require(again.core.takeOwed().first?.letter)
        #expect(letter.reasons.last?.hasPrefix("63 ") == true && letter.strikes == letter.reasons.count)
        await again.close()
    }

    @Test("Notes that wait for a segment are written when the journal is closed", .timeLimit(.minutes(1)))
    func closing() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, _) = try FaultTests.journal(on: storage)
        let core = journal.core
        await journal.waitForSpare()
        let baton = Baton()
        storage.holdFill(by: baton)
        // The second segment is entered, and the third one waits for the baton.
        for number in UInt64(1)...80 { try Self.record(journal, number, bytes: 1_000, isOwed: true) }
        while core.lock.withLock({ core.unwritten.isEmpty }) {
            core.note(.strike(Self.id(2_000_000), at: Self.a, reason: "fills a segment"))
        }
        core.note(.settled(source: Self.source, ranges: [1...80], by: Self.a))
        core.close()
        // Late, but before the end.
        core.note(.strike(Self.id(2_000_000), at: Self.a, reason: "late"))
        baton.handOver()
        await journal.close()
        #expect(try await Self.owed(scratch).isEmpty)
        #expect(try StoredJournal(at: scratch.path).verify { Issue.record("\($0)") } == 1..<81)
    }

    @Test("A settled event's segment stays until what the event has caused is safe", .timeLimit(.minutes(1)))
    func unsafeEffect() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        var settings = JournalCore.Settings()
        settings.durability = .machine(within: .seconds(3_600))
        settings.retention = JournalRetention(bytes: 128 << 10)
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        try Self.record(journal, 1, isOwed: true)
        for number in UInt64(2)...200 { try Self.record(journal, number, bytes: 1_000, isOwed: false) }
        try await journal.synchronize()
        await journal.waitForSpare()
        // The effect, and then the note; both are not safe, and the next synchronization fails.
        storage.failSynchronizations(1)
        try Self.record(journal, 201, isOwed: false)
        journal.core.note(Self.settled(1))
        for number in UInt64(202)... {
            do { try Self.record(journal, number, bytes: 1_000, isOwed: false) } catch { break }
            if journal.status.firstPosition > 1 { break }
        }
        #expect(journal.status.firstPosition == 1)
        await journal.close()
    }
}
