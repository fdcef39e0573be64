import BridgePlatform
import DomainEvents
import Journal

/// A thousand events, in one transaction and without; afterwards they are safe against the death of the process.
///
/// The comparison is SQLite with a thousand insertions in one transaction: with `synchronous=NORMAL`, which promises
/// the same, and with `FULL`, which also promises safety against a power cut.
enum BurstWork {
    private static let burst: Int64 = 1_000

    /// - Parameter count: the bursts of all rounds together, for each of the peers.
    static func run(bursts count: Int64) async throws {
        let inRound = max(1, Int(count) / JournalRounds.count)
        try await BenchmarkDirectory.with { directory in
            let journal = try EventJournal(at: directory.path + "/journal")
            let publisher = EventPublisher()
            try journal.record(BenchmarkRecord.self, of: publisher)
            var rounds = JournalRounds("journal-burst")
            rounds.add("event-bridge") { _ in
                try measure(inRound) {
                    publisher.transaction {
                        for number in 0..<burst { publisher.publish(BenchmarkRecord(number)) }
                    }
                }
            }
            rounds.add("event-bridge-publish") { _ in
                try measure(inRound) {
                    for number in 0..<burst { publisher.publish(BenchmarkRecord(number)) }
                }
            }
            let payload = try BenchmarkRecord.payload(0)
            for (name, synchronous) in [("sqlite", SQLiteStore.Synchronous.normal), ("sqlite-full", .full)] {
                rounds.add(name, { try SQLiteStore(at: "\(directory.path)/\(name)", synchronous) }) { store in
                    try measure(inRound) {
                        try store.transaction {
                            for _ in 0..<burst { try store.insert(payload) }
                        }
                    }
                }
            }
            try await rounds.run(counts: [("n", inRound)])
            let recorded = journal.status.lastPosition
            await journal.close()
            let expected = UInt64(2 * JournalRounds.count * inRound) * UInt64(burst)
            guard recorded == expected else {
                Report.fail("the journal has \(recorded) events where \(expected) were expected")
            }
        }
    }

    /// Times `count` bursts one by one, and returns the rate of the median burst.
    private static func measure(_ count: Int, _ body: () throws -> Void) throws -> [JournalRounds.Figure] {
        let times = try (0..<count).map { _ in
            let begin = MonotonicClock.now()
            try body()
            return MonotonicClock.now() - begin
        }
        return [("events_per_s", Double(burst) / (Double(max(1, Report.percentile(50, of: times))) / 1e9))]
    }
}
