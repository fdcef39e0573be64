import ChaosLedger

/// The results of a run, as tables.
struct CheckReport {
    let totals: Totals
    /// By party, how many events came again or became dead letters although the process that had begun them lived.
    let takenBack: [Party: Int]
    let unknown: Int
    let faults: [String]
    let announcements: Announcements
    let attachments: Int

    /// The least redeliveries for each 100 deaths: fewer mean that the deaths hit no work.
    private static let leastRedeliveries = 20
    /// With fewer deaths, redeliveries are not judged: all these deaths may have hit idle workers by chance.
    private static let enoughDeaths = 20

    private var sum: Tally { totals.tallies.reduce(into: Tally()) { $0 += $1 } }

    private var isMeaningful: Bool {
        let deaths = announcements.deaths.count
        return deaths < Self.enoughDeaths || sum.redeliveries * 100 >= deaths * Self.leastRedeliveries
    }

    var isGood: Bool { failures.isEmpty }

    var text: String {
        var lines = table(streamRows) + table(accountRows)
        let deaths = Dictionary(grouping: announcements.deaths, by: \.party).mapValues(\.count)
        let died = Party.allCases.compactMap { party in deaths[party].map { "\(party.name) \($0)" } }
        lines.append("deaths: \(died.joined(separator: ", ")); the client has attached \(attachments) times")
        if !faults.isEmpty { lines.append("the first faults, and where events are missing:") }
        lines += faults.map { "  " + $0 }
        return (lines + failures.map { "  FAILED  " + $0 }).joined(separator: "\n")
    }

    /// The failures of the run, a sentence each.
    private var failures: [String] {
        var failures: [String] = []
        func expect(_ count: Int, _ text: String) {
            if count != 0 { failures.append("\(count) \(text)") }
        }
        for (count, meaning) in sum.faultCounts { expect(count, meaning) }
        expect(unknown, "events came from no known party, or long after they were settled")
        for (party, count) in takenBack.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            expect(count, "events came again to \(party.name), though it had not died")
        }
        for account in accounts {
            let way = "of the kind \(account.kind) to \(account.receiver.name)"
            expect(account.lost, "events \(way) are lost")
            expect(account.droppedAndHandled, "events \(way) were announced as dropped and handled all the same")
        }
        if !isMeaningful {
            failures.append(
                """
                \(sum.redeliveries) events came again after \(announcements.deaths.count) deaths: fewer than \
                \(Self.leastRedeliveries) in 100 prove nothing
                """
            )
        }
        return failures
    }

    // MARK: - Streams

    private var streamRows: [[String]] {
        var rows = [
            [
                "stream", "to", "accepted", "handled", "refused", "large", "dead", "again", "highest",
                "missing", "repeated", "reordered", "unmarked", "damaged", "unknown",
            ]
        ]
        for stream in ChaosStream.allCases {
            for receiver in stream.receivers {
                let accepted = totals.accepted[Int(stream.rawValue)]
                rows.append(row("\(stream)", receiver.name, accepted, totals.tally(stream, receiver)))
            }
        }
        let deliveries = ChaosStream.allCases.reduce(0) {
            $0 + totals.accepted[Int($1.rawValue)] * $1.receivers.count
        }
        rows.append(row("all", "", deliveries, sum))
        return rows
    }

    private func row(_ stream: String, _ receiver: String, _ accepted: Int, _ tally: Tally) -> [String] {
        let numbers = [
            accepted, tally.handled, tally.refused, tally.large, tally.deadLettered, tally.redeliveries,
            Int(tally.highestAttempt), tally.missing, tally.unannounced + tally.stale + tally.elsewhere,
            tally.reordered, tally.unmarked, tally.damaged, tally.neverOffered,
        ]
        return [stream, receiver] + numbers.map(String.init)
    }

    // MARK: - Missing and announced events

    private var accounts: [Account] {
        var left = Dictionary(uniqueKeysWithValues: Party.allCases.map { ($0, announcements.left(to: $0)) })
        return ChaosKind.allCases.flatMap { kind in
            (kind.receivers + [.witness]).map { receiver in
                let streams = ChaosStream.allCases.filter { $0.kind == kind }
                let account = Account(
                    kind: kind,
                    receiver: receiver,
                    tally: streams.reduce(into: Tally()) { $0 += totals.tally($1, receiver) },
                    dropped: announcements.dropped(kind, to: receiver),
                    coalesced: kind == .latest && receiver == .lossy ? announcements.coalesced(to: receiver) : 0,
                    left: left[receiver] ?? 0,
                    askersDeaths: announcements.deaths.count { $0.party == .asker }
                )
                // An event that was left at the end explains one event: later accounts must not use it.
                left[receiver] = account.leftForOthers
                return account
            }
        }
    }

    private var accountRows: [[String]] {
        let header = [
            "kind", "to", "missing", "dropped", "coalesced", "left", "untold", "lost", "dropped and handled",
        ]
        return [header]
            + accounts.filter { $0.isWorthARow }.map { account in
                [
                    "\(account.kind)", account.receiver.name, "\(account.tally.missing)", "\(account.dropped)",
                    "\(account.coalesced)", "\(account.left)", "\(account.tally.untold)", "\(account.lost)",
                    "\(account.droppedAndHandled)",
                ]
            }
    }

    private func table(_ rows: [[String]]) -> [String] {
        guard let columns = rows.first?.indices else { return [] }
        let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return index < 2 ? cell.0 + padding : padding + cell.0
            }.joined(separator: "  ")
        }
    }
}
