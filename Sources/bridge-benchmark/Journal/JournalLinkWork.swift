import DomainEvents

/// W1 and W2 with a journal of the host, which records all their small events, compared with no journal.
enum JournalLinkWork {
    /// - Parameter count: the trips of all rounds together, with a journal and again without.
    static func roundTrips(count: Int64) async throws {
        let inRound = max(1, count / Int64(JournalRounds.count))
        try await BenchmarkDirectory.with { directory in
            var rounds = JournalRounds("journal-W1")
            for hasJournal in [true, false] {
                rounds.add(peer(hasJournal)) { round in
                    let path = hasJournal ? "\(directory.path)/\(round)" : nil
                    let times = try await RoundTripWork.trips(.codable, journalPath: path, count: inRound).nanoseconds
                    return [
                        ("p50_us", Double(Report.percentile(50, of: times)) / 1e3),
                        ("p99_us", Double(Report.percentile(99, of: times)) / 1e3),
                    ]
                }
            }
            try await rounds.run(counts: [("n", Int(inRound))], ratioTo: peer(false))
        }
    }

    /// - Parameter count: the events of all rounds together, with a journal and again without.
    static func flood(count: Int64) async throws {
        let inRound = max(1, count / Int64(JournalRounds.count))
        try await BenchmarkDirectory.with { directory in
            var rounds = JournalRounds("journal-W2")
            for hasJournal in [true, false] {
                rounds.add(peer(hasJournal)) { round in
                    let path = hasJournal ? "\(directory.path)/\(round)" : nil
                    let outcome = try await FloodWork.measure(FloodPlan(journalPath: path), count: inRound)
                    return [("events_per_s", Double(outcome.count) / (Double(max(1, outcome.nanoseconds)) / 1e9))]
                }
            }
            try await rounds.run(counts: [("n", Int(inRound))], ratioTo: peer(false))
        }
    }

    private static func peer(_ hasJournal: Bool) -> String {
        hasJournal ? "event-bridge" : "no-journal"
    }
}
