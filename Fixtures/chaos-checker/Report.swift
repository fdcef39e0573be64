import ChaosLedger

/// What a run has shown, as a table.
struct Report {
    let totals: [Tally]
    let accepted: [Int]
    let unknown: Int
    let faults: [String]
    let kills: Int

    /// For each 100 kills: fewer mean that the kills have hit nothing.
    private static let leastRedeliveries = 20

    private static let columns = [
        "stream", "to", "accepted", "handled", "refused", "dead", "again", "highest", "lost", "repeated", "reordered",
        "damaged", "unknown",
    ]

    private var sum: Tally { totals.reduce(into: Tally()) { $0 += $1 } }

    private var isMeaningful: Bool { sum.redeliveries * 100 >= kills * Self.leastRedeliveries }

    var isGood: Bool { sum.faults == 0 && unknown == 0 && isMeaningful }

    var text: String {
        var rows = [Self.columns]
        for stream in ChaosStream.allCases {
            for receiver in stream.receivers {
                let tally = totals[Sender.totalIndex(stream, receiver)]
                rows.append(row("\(stream)", receiver.name, accepted[Int(stream.rawValue)], tally))
            }
        }
        let deliveries = ChaosStream.allCases.reduce(0) { $0 + accepted[Int($1.rawValue)] * $1.receivers.count }
        rows.append(row("all", "", deliveries, sum))
        let widths = Self.columns.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var lines = rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return index < 2 ? cell.0 + padding : padding + cell.0
            }.joined(separator: "  ")
        }
        if unknown > 0 { lines.append("\(unknown) were handled that nobody had sent, or long after they were settled") }
        if !isMeaningful {
            lines.append(
                "\(sum.redeliveries) redeliveries in \(kills) kills: fewer than \(Self.leastRedeliveries) in 100 prove nothing"
            )
        }
        if !faults.isEmpty { lines.append("the first faults:") }
        return (lines + faults.map { "  " + $0 }).joined(separator: "\n")
    }

    private func row(_ stream: String, _ receiver: String, _ accepted: Int, _ tally: Tally) -> [String] {
        let numbers = [
            accepted, tally.handled, tally.refused, tally.deadLettered, tally.redeliveries, Int(tally.highestAttempt),
            tally.lost, tally.unannounced + tally.stale, tally.reordered, tally.damaged, tally.neverOffered,
        ]
        return [stream, receiver] + numbers.map(String.init)
    }
}
