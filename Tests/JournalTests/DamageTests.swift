import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Testing

@testable import Journal

@Suite("A journal with damaged, missing and removed files")
struct DamageTests {
    @Test("J3, J4: a damaged file is told with place and count, by a living journal and by one that is opened")
    func damage() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<300 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        let name = SegmentCatalog.fileName(of: 2)
        try scratch.overwrite(name, at: 20_000, with: [0xFF])
        let (found, missing) = try await journal.numbers()
        #expect(found.count == 299)
        #expect(missing == 1)
        await journal.close()
        var gaps: [JournalGap] = []
        #expect(try StoredJournal(at: scratch.path).verify { gaps.append($0) } == 1..<301)
        #expect(gaps.count == 1)
        guard case .damaged(name, let offset, let byteCount)? = gaps.first?.reason else {
            Issue.record("\(gaps)")
            return
        }
        #expect((offset..<(offset + byteCount)).contains(20_000))
    }

    @Test(
        "J29: behind damage, a payload that looks like long records is read a few times, not once for each place",
        .timeLimit(.minutes(2))
    )
    func headLikePayload() async throws {
        let (scratch, segmentBytes) = (try ScratchJournal(), 2 << 20)
        let journal = try scratch.open(segmentBytes: segmentBytes)
        var ends: [Int] = []
        for (number, byteCount) in [(UInt64(1), 1), (2, 1 << 20), (3, 100_000), (4, 1)] {
            let payload = [UInt8](repeating: 0, count: byteCount)
            _ = try journal.core.append(payload, name: "Counted", context: .of(number), whenSettled: nil)
            ends.append(journal.core.lock.withLock { journal.core.state.accepted.offset })
        }
        await journal.waitForSpare()
        let copy = try scratch.copied()
        await journal.close()
        // The record has lost its length. The rest of it says at each multiple of 8 that 512 KiB follow.
        let headLike: [UInt8] = [0x01, 0x00, 0x08, 0xA0, 0xFF, 0xFF, 0xFF, 0x7F]
        let bytes = [UInt8](repeating: 0, count: 8) + (1..<((ends[1] - ends[0]) / 8)).flatMap { _ in headLike }
        try copy.overwrite(SegmentCatalog.fileName(of: 1), at: ends[0], with: bytes)

        let storage = try FaultyStorage(at: copy.path)
        let (again, _) = try FaultTests.journal(on: storage)
        let forOpening = storage.bytesRead
        #expect(again.recovery.lastPosition == 4)
        #expect(again.recovery.gaps.map(\.positions) == [2..<3])
        // The opening reads a damaged place twice, and once more for bookmarks and owed events.
        #expect(forOpening <= 20 * segmentBytes)
        var positions: [UInt64] = []
        for try await step in again.records(after: 0, follows: false) {
            switch step {
            case .event(let record): positions.append(record.position)
            case .gap(let gap): #expect(gap.positions == 2..<3)
            }
        }
        #expect(positions == [1, 3, 4])
        #expect(storage.bytesRead - forOpening <= 5 * segmentBytes)
        await again.close()
    }

    @Test("J10: a segment that is gone, or whose head is, is told with the positions of its events")
    func missingSegment() async throws {
        for isRemoved in [true, false] {
            let scratch = try ScratchJournal()
            let journal = try scratch.open()
            let publisher = EventPublisher()
            try journal.record(Counted.self, of: publisher)
            for number in 0..<300 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
            await journal.close()
            let name = SegmentCatalog.fileName(of: 2)
            let identity = try scratch.bytes(of: name)[16]
            if isRemoved {
                try scratch.files.remove(name)
            } else {
                try scratch.overwrite(name, at: 16, with: [~identity])
            }
            let again = try scratch.open()
            #expect(again.recovery.lastPosition == 300)
            let (found, missing) = try await again.numbers()
            // Without its head a segment's records are still there.
            #expect(isRemoved ? missing > 10 : missing == 0)
            #expect(UInt64(found.count) + missing == 300)
            await again.close()
            var gaps: [JournalGap] = []
            #expect(try StoredJournal(at: scratch.path).verify { gaps.append($0) } == 1..<301)
            #expect(gaps.count == 1)
            guard case .unreadable(name, _)? = gaps.first?.reason else {
                Issue.record("\(gaps)")
                continue
            }
        }
    }

    @Test("J20: a journal of many segments is opened by their heads and the last one", .timeLimit(.minutes(5)))
    func manySegments() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        let text = String(repeating: "x", count: 50_000)
        for number in 0..<200 { publisher.publish(Counted(number: number, text: text)) }
        await journal.close()
        #expect(try scratch.segments.count == 200)
        let other = try FaultyStorage(at: scratch.path)
        let (again, _) = try FaultTests.journal(on: other)
        #expect(other.bytesRead <= 200 * SegmentHead.byteCount + 2 * (64 << 10))
        #expect(again.recovery.lastPosition == 200)
        await again.close()
    }

    @Test("J20: with events that were never all safe, opening reads two segments more", .timeLimit(.minutes(5)))
    func manyUnsafeSegments() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        let text = String(repeating: "x", count: 25_000)
        // Of the two events in each segment only the first one is safe when the next segment is begun.
        for number in 0..<200 {
            publisher.publish(Counted(number: number, text: text))
            if number.isMultiple(of: 2) { try await journal.synchronize() }
        }
        await journal.close()
        #expect(try scratch.segments.count == 100)
        let other = try FaultyStorage(at: scratch.path)
        let (again, _) = try FaultTests.journal(on: other, .machine(within: .seconds(3_600)))
        #expect(other.bytesRead <= 100 * SegmentHead.byteCount + 6 * (64 << 10))
        #expect(again.recovery.lastPosition == 200)
        await again.close()
    }

    @Test("A payload that is no CBOR makes a gap, even in a field that the type does not ask for")
    func uncheckedField() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        // A map with a number, a text, and a text "a" that is not UTF-8.
        let payload: [UInt8] =
            [0xA3, 0x66] + Array("number".utf8) + [1, 0x64] + Array("text".utf8) + [0x60, 0x61, 0x61, 0x61, 0xFF]
        _ = try journal.core.append(payload, name: "Counted", context: .of(7), whenSettled: nil)
        var gaps: [JournalGap] = []
        for try await step in journal.events(of: Counted.self, after: 0, follows: false) {
            guard case .gap(let gap) = step else {
                Issue.record("\(step)")
                break
            }
            gaps.append(gap)
        }
        for try await step in journal.records(after: 0, follows: false) {
            guard case .event(let record) = step else {
                Issue.record("\(step)")
                break
            }
            let error = #expect(throws: JournalError.self) { try record.event(as: Counted.self) }
            #expect(error?.code == .undecodable && gaps.map { "\($0)" } == error.map { ["\($0)"] })
        }
        await journal.close()
    }

    @Test(
        "A descriptor that is missing for a moment makes no gap: the reading goes on from its place",
        .timeLimit(.minutes(1)),
        arguments: 0..<4
    )
    func shortage(goodOpenings: Int) async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage)
        for number in 0..<200 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        let cursor = JournalCursor(
            storage,
            at: "test",
            after: 0,
            filter: RecordFilter(JournalQuery()),
            skipsUnreadable: false
        )
        let horizon = journal.core.horizon.0
        storage.failNextOpenings(1, after: goodOpenings)
        var (found, errors) = (0, 0)
        repeat {
            do throws(JournalError) {
                for step in try cursor.read(to: horizon) {
                    switch step {
                    case .record: found += 1
                    case .gap(let gap): Issue.record("\(gap)")
                    }
                }
            } catch {
                errors += 1
            }
        } while !cursor.isAtEnd
        #expect(found == 200)
        // What was read before is handed out instead, and the next reading finds the descriptor.
        #expect(errors == (goodOpenings == 0 ? 1 : 0))
        await journal.close()
    }

    @Test("J3, J4: damage between records is told in its place, each time, to readers of values and of records")
    func severalGaps() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 1...300 { publisher.publish(Counted(number: number, text: "<\(number)>\(FaultTests.text)")) }
        let name = SegmentCatalog.fileName(of: 1)
        let bytes = try scratch.bytes(of: name)
        for number in [1, 4, 9] {
            let text = Array("<\(number)>".utf8)
            let place = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
            try scratch.overwrite(name, at: place, with: [0x2A])
        }
        let expected = ["1..<2", "2", "3", "4..<5", "5", "6", "7", "8", "9..<10", "10", "11"]
        func text<Event>(_ step: JournalStep<Event>, _ position: (Event) -> UInt64) -> String {
            switch step {
            case .event(let event): "\(position(event))"
            case .gap(let gap): gap.positions.map { "\($0)" } ?? "unknown"
            }
        }
        var values: [String] = []
        for try await step in journal.events(of: Counted.self, after: 0, follows: false) {
            values.append(text(step) { $0.position })
        }
        #expect(Array(values.prefix(expected.count)) == expected)
        #expect(values.count == 300)
        var records: [String] = []
        for try await step in journal.records(after: 0, follows: false) { records.append(text(step) { $0.position }) }
        #expect(records == values)
        await journal.close()
    }

    @Test(
        "A damaged head behind the oldest segment keeps no segment from being removed",
        .timeLimit(.minutes(1)),
        arguments: [true, false]
    )
    func damagedSecondHead(isTrimmed: Bool) async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<300 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        await journal.close()
        let name = SegmentCatalog.fileName(of: 2)
        try scratch.overwrite(name, at: 16, with: [~(try scratch.bytes(of: name)[16])])
        if isTrimmed {
            #expect(try StoredJournal(at: scratch.path).trim(before: 200).count == 3)
        } else {
            let again = try scratch.open(retention: JournalRetention(age: .zero))
            let publisher = EventPublisher()
            try again.record(Counted.self, of: publisher)
            for number in 0..<100 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
            await again.waitForSpare()
            #expect(again.status.segments <= 3)
            await again.close()
        }
        #expect(try !scratch.segments.contains(name))
    }

    @Test("The last position of a listed file is unknown if the file behind it is gone", .timeLimit(.minutes(1)))
    func listedBeforeMissing() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<300 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        await journal.close()
        try scratch.files.remove(SegmentCatalog.fileName(of: 3))
        let listed = try StoredJournal(at: scratch.path).listed
        #expect(listed[0].last == listed[1].first.map { $0 - 1 })
        #expect(listed[1].first != nil && listed[1].last == nil)
    }

    @Test("Segments before a position are removed, and those with later events stay", .timeLimit(.minutes(1)))
    func trim() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        for number in 0..<300 { publisher.publish(Counted(number: number, text: FaultTests.text)) }
        #expect { _ = try StoredJournal(at: scratch.path).trim(before: 200) } throws: {
            ($0 as? JournalError)?.code == .inUse
        }
        await journal.close()
        let stored = try StoredJournal(at: scratch.path)
        #expect(try stored.trim(before: 200).count == 3)
        let first = try #require(stored.catalog.firstPosition)
        #expect(first > 100 && first <= 200)
        #expect(try stored.trim(before: .max).count > 0)
        #expect(try stored.verify { Issue.record("\($0)") }.upperBound == 301)
    }
}
