import DomainEvents
import Locks
import Testing

@testable import Journal

@Suite("The end of a segment that is damaged")
struct DamagedEndTests {
    /// What has become of the end of a segment.
    enum BrokenEnd: CaseIterable {
        case overwritten, zeroed, cut
    }

    @Test(
        "J4: notes there that cannot be read are told, though no event is missing",
        .timeLimit(.minutes(1)),
        arguments: BrokenEnd.allCases
    )
    func notes(end: BrokenEnd) async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        let offset = journal.core.lock.withLock { journal.core.state.accepted.offset }
        let source = EventSource(origin: "host", incarnation: 1)
        journal.core.note(.settled(source: source, ranges: [1...1], by: NotedReceiver(name: "a")))
        await journal.close()
        // The next segment says where the records of this one end.
        let again = try scratch.open()
        try again.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 2))
        await again.close()
        #expect(try StoredJournal(at: scratch.path).verify { Issue.record("\($0)") } == 1..<3)

        let name = SegmentCatalog.fileName(of: 1)
        let byteCount = try scratch.bytes(of: name).count - offset
        switch end {
        case .overwritten: try scratch.overwrite(name, at: offset, with: [UInt8](repeating: 0xEE, count: byteCount))
        case .zeroed: try scratch.overwrite(name, at: offset, with: [UInt8](repeating: 0, count: byteCount))
        case .cut: try scratch.cut(name, to: offset)
        }
        let stored = try StoredJournal(at: scratch.path)
        var gaps: [JournalGap] = []
        #expect(try stored.verify { gaps.append($0) } == 1..<3)
        #expect(
            gaps == [JournalGap(positions: nil, reason: .damaged(file: name, offset: offset, byteCount: byteCount))]
        )
        #expect(!stored.lacksEnd)
    }

    @Test(
        "What is left of a journal's last record is counted, without the zeros behind it",
        .timeLimit(.minutes(1))
    )
    func tornBytes() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        publisher.publish(Counted(number: 1))
        await journal.waitForSpare()
        let offset = journal.core.lock.withLock { journal.core.state.accepted.offset }
        publisher.publish(Counted(number: 2, text: FaultTests.text))
        let copy = try scratch.copied()
        await journal.close()
        let name = SegmentCatalog.fileName(of: 1)
        let length = try copy.bytes(of: name).count
        try copy.overwrite(name, at: offset + 700, with: [UInt8](repeating: 0, count: length - offset - 700))
        let again = try copy.open()
        #expect(again.recovery == JournalRecovery(lastPosition: 1, wasClosed: false, tornBytes: 700, gaps: []))
        await again.close()
    }
}
