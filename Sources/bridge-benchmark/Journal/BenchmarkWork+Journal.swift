/// The works with a journal. Each also measures the peers that it is compared with, in turns and in the same run.
extension BenchmarkWork {
    static let journal = [
        BenchmarkWork(
            name: "journal-W1",
            summary: "round trips of W1 with a journal of the host, and without",
            count: 50_000,
            quickCount: 100
        ) { try await JournalLinkWork.roundTrips(count: $0) },
        BenchmarkWork(
            name: "journal-W2",
            summary: "events of W2 with a journal of the host, and without",
            count: 5_000_000,
            quickCount: 5_000
        ) { try await JournalLinkWork.flood(count: $0) },
        durable(callers: 1, count: 10_000),
        durable(callers: 64, count: 200_000),
        BenchmarkWork(
            name: "journal-burst",
            summary: "bursts of a thousand events in a transaction, beside SQLite",
            count: 500,
            quickCount: 5
        ) { try await BurstWork.run(bursts: $0) },
        BenchmarkWork(
            name: "journal-replay",
            summary: "reading a history of so many events, beside SQLite",
            count: 500_000,
            quickCount: 1_000
        ) { try await ReadingWork.run(count: $0) },
        BenchmarkWork(
            name: "journal-open",
            summary: "opening a journal of so many MiB, beside one of a single segment",
            count: 10_240,
            quickCount: 48
        ) { try await OpeningWork.run(mebibytes: $0) },
    ]

    private static func durable(callers: Int, count: Int64) -> BenchmarkWork {
        let name = "journal-durable-\(callers)"
        return BenchmarkWork(
            name: name,
            summary: "events safe against a power cut, \(callers) at a time, beside SQLite and JetStream",
            count: count,
            quickCount: 320
        ) { try await DurableWork.run(name, callers: callers, count: $0) }
    }
}
