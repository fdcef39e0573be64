import BridgePlatform
import DomainEvents
import FoundationEssentials
import Journal

/// Opens a large journal and, for comparison, a journal whose only segment is like the large journal's last one.
///
/// The difference is what the older segments cost. The journal was written a moment ago, so the system has its files in
/// memory as far as there is room.
enum OpeningWork {
    /// How many events the last segment has at most; they fill less than half of it.
    private static let mostLastEvents: Int64 = 20_000
    /// The size of an event in the older segments, in bytes: large, because these events only have to fill segments.
    private static let fillerBytes = 4_000

    /// - Parameter mebibytes: the size of the large journal.
    static func run(mebibytes: Int64) async throws {
        let bytes = Int(mebibytes) << 20
        let lastEvents = min(mostLastEvents, 50 * mebibytes)
        try await BenchmarkDirectory.with { directory in
            try directory.requireRoom(bytes: UInt64(bytes) + (512 << 20))
            let (large, small) = (directory.path + "/large", directory.path + "/small")
            try await fill(large, bytes: bytes)
            try await addSegment(lastEvents, to: try EventJournal(at: large))
            var rounds = JournalRounds("journal-open")
            rounds.add("event-bridge") { _ in try await open(large, lastEvents) }
            rounds.add("one-segment") { _ in
                try await addSegment(lastEvents, to: try EventJournal(at: small))
                let figures = try await open(small, lastEvents)
                try FileManager.default.removeItem(atPath: small)
                return figures
            }
            try await rounds.run(counts: [])
        }
    }

    private static func open(_ path: String, _ lastEvents: Int64) async throws -> [JournalRounds.Figure] {
        let begin = MonotonicClock.now()
        let journal = try EventJournal(at: path)
        let time = MonotonicClock.now() - begin
        let (recovery, status) = (journal.recovery, journal.status)
        guard recovery.wasClosed, recovery.gaps.isEmpty, recovery.lastPosition >= lastEvents else {
            Report.fail("found \(recovery), expected a closed journal without gaps")
        }
        // This opening has begun an empty segment. Without events in it, the next round's opening would read no events.
        try await addSegment(lastEvents, to: journal)
        return [
            ("p50_ms", Double(time) / 1e6), ("journal_mib", Double(status.bytes) / Double(1 << 20)),
            ("segments", Double(status.segments)),
        ]
    }

    /// Records so many events in a segment of an open journal, and closes the journal.
    private static func addSegment(_ count: Int64, to journal: EventJournal) async throws {
        let publisher = EventPublisher()
        try journal.record(BenchmarkRecord.self, of: publisher)
        for number in 0..<count { publisher.publish(BenchmarkRecord(number)) }
        await journal.close()
    }

    private static func fill(_ path: String, bytes: Int) async throws {
        let journal = try EventJournal(at: path)
        let publisher = EventPublisher()
        try journal.record(BenchmarkLoad.self, of: publisher)
        let filler = Data(repeating: 0x61, count: fillerBytes)
        var number: Int64 = 0
        while journal.status.bytes < bytes {
            for _ in 0..<1_000 {
                publisher.publish(BenchmarkLoad(id: number, filler: filler))
                number += 1
            }
        }
        guard journal.status.lastPosition == number else {
            Report.fail("the journal has \(journal.status.lastPosition) events where \(number) were expected")
        }
        await journal.close()
    }
}
