import BridgePlatform
import DomainEvents
import Journal

/// Events that are safe against a power cut before their callers go on.
///
/// Compares `deliver` and `send` with SQLite and JetStream, whose directories lie on the same file system. SQLite has
/// one connection with one transaction for each event, however many callers there are: only one transaction at a time
/// writes, so more callers would only wait for each other. JetStream has one connection that all callers share.
enum DurableWork {
    /// How long events may wait for a synchronization if no caller waits; in this work a caller always waits.
    private static let within = Duration.milliseconds(10)

    /// - Parameter count: the events of all rounds for each way of publishing. With more than one caller, SQLite and
    ///   JetStream store a tenth of them, because a rate does not depend on the count.
    static func run(_ name: String, callers: Int, count: Int64) async throws {
        // Each caller publishes the same number of events in a round.
        let each = max(1, Int(count) / JournalRounds.count / callers)
        let others = callers == 1 ? each : max(callers, each * callers / 10)
        try await BenchmarkDirectory.with { directory in
            let journal = try EventJournal(at: directory.path + "/journal", durability: .machine(within: within))
            let publisher = EventPublisher()
            try journal.record(BenchmarkRecord.self, of: publisher)
            let payload = try BenchmarkRecord.payload(0)
            var rounds = JournalRounds(name)
            rounds.add("event-bridge") { _ in
                try await measure(callers, each) { try await publisher.deliver($0, within: .seconds(60)) }
            }
            rounds.add("event-bridge-send") { _ in try await measure(callers, each) { try await publisher.send($0) } }
            rounds.add("sqlite", { try SQLiteStore(at: directory.path + "/sqlite", .full) }) { store in
                let begin = MonotonicClock.now()
                let times = try (0..<others).map { _ in
                    let begun = MonotonicClock.now()
                    try store.insert(payload)
                    return MonotonicClock.now() - begun
                }
                let figures = figures(times, from: begin)
                // With many callers, the times lack each caller's wait for its turn: only the rate is valid.
                return callers == 1 ? figures : figures.filter { $0.name == "events_per_s" }
            }
            rounds.add(
                "jetstream",
                {
                    let server = try JetStreamServer(in: directory.path)
                    return (server, try JetStreamClient(port: server.port))
                },
                { server, client in
                    let begin = MonotonicClock.now()
                    let times = try client.store(payload, count: others, callers: callers)
                    withExtendedLifetime(server) {}
                    return figures(times, from: begin)
                }
            )
            try await rounds.run(counts: [("n", each * callers), ("n_others", others)])
            let (recorded, safe) = (journal.status.lastPosition, journal.status.safePosition)
            await journal.close()
            let expected = UInt64(2 * JournalRounds.count * each * callers)
            guard recorded == expected, safe == expected else {
                Report.fail("the journal has \(recorded) events, \(safe) of them safe, where \(expected) were expected")
            }
        }
    }

    /// Has callers publish at the same time, each of them one event after the other.
    private static func measure(
        _ callers: Int,
        _ each: Int,
        _ publish: @escaping @Sendable (BenchmarkRecord) async throws -> Void
    ) async throws -> [JournalRounds.Figure] {
        let begin = MonotonicClock.now()
        let times = try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for caller in 0..<callers {
                group.addTask {
                    var times: [UInt64] = []
                    times.reserveCapacity(each)
                    for number in 0..<each {
                        let begun = MonotonicClock.now()
                        try await publish(BenchmarkRecord(Int64(caller * each + number)))
                        times.append(MonotonicClock.now() - begun)
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return figures(times, from: begin)
    }

    private static func figures(_ times: [UInt64], from begin: UInt64) -> [JournalRounds.Figure] {
        let seconds = Double(MonotonicClock.now() - begin) / 1e9
        return [
            ("events_per_s", Double(times.count) / seconds),
            ("p99_us", Double(Report.percentile(99, of: times)) / 1e3),
        ]
    }
}
