import ChaosLedger

/// How often workers have met each end.
struct EndFigures: Sendable {
    private var counts: [End: [Party: Int]] = [:]
    /// How many events were on their way when a worker under full load died, for the deaths that waited for load.
    var histogram = Histogram()
    /// How many deaths of workers under full load did not wait for load.
    var idleDeaths = 0
    /// How many processes were killed in the middle of their start.
    var early = 0
    /// Processes that were killed in the middle of an orderly end, or soon after it.
    var interrupted: Set<Int32> = []

    mutating func add(_ end: End, _ party: Party) { counts[end, default: [:]][party, default: 0] += 1 }

    var total: Int { counts.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

    /// A line for each end: how often it was met, and by which parties.
    var lines: [String] {
        let width = End.allCases.map(\.rawValue.count).max() ?? 0
        return End.allCases.map { end in
            let parties = counts[end] ?? [:]
            let count = "\(parties.values.reduce(0, +))"
            let who = Party.allCases.compactMap { party in parties[party].map { "\(party.name) \($0)" } }
            let padding = width - end.rawValue.count + max(1, 6 - count.count)
            return "  " + end.rawValue + String(repeating: " ", count: padding) + count + "  "
                + who.joined(separator: ", ")
        }
    }
}
