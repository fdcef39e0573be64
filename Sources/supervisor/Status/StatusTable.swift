import BridgeControl
import BridgePlatform
import DomainEvents

/// A report as tables for people: lines about the supervisor and its journal, then one for each worker and client.
struct StatusTable {
    let report: BridgeReport
    /// An earlier report, to show events per second since then; nil to show the number of events since the start.
    var before: BridgeReport?
    var isColoured = false
    /// Whether workers that need no attention are left out.
    var isOnlyBad = false

    /// - Parameter width: the width at which lines are cut; nil for no limit.
    func lines(width: Int? = nil) -> [String] {
        var head = StyledLine()
        head.append(summary)
        return
            ([head] + journalLine + table(workerColumns, isOnlyBad ? report.badWorkers : report.workers, width)
            + table(clientColumns, others, width))
            .map { $0.text(isColoured: isColoured, width: width) }
    }

    /// The table, with an empty line before it; nothing if there are no rows.
    private func table<Row>(_ columns: [TextTable<Row>.Column], _ rows: [Row], _ width: Int?) -> [StyledLine] {
        rows.isEmpty ? [] : [StyledLine()] + TextTable(columns: columns, rows: rows).lines(width: width)
    }

    /// The clients except this process.
    private var others: [ClientReport] { report.clients.filter { $0.pid != CurrentProcess.identifier } }

    // MARK: - Columns

    private var workerColumns: [TextTable<WorkerReport>.Column] {
        let seconds = secondsSince(before)
        return [
            .init(title: "WORKER", text: { $0.name }),
            .init(title: "PID", isNumber: true, text: { $0.pid.map { "\($0)" } }),
            .init(title: "STATE", text: { $0.state }, style: { Self.style(of: $0.state) }),
            .init(title: "UPTIME", isNumber: true, text: { $0.uptimeMilliseconds.map(ShownQuantity.time) }),
            .init(title: "RESTARTS", isNumber: true, text: { "\($0.restarts)" }),
            events("IN", of: seconds) { $0.sent.settled },
            events("OUT", of: seconds) { $0.received.offered },
            .init(title: "OUTBOX", isNumber: true, text: { "\($0.sent.waiting)" }),
            .init(title: "P99", isNumber: true, text: { $0.settling?.quantile(0.99).map(ShownQuantity.duration) }),
            .init(title: "MEMORY", isNumber: true, text: { $0.residentBytes.map(ShownQuantity.bytes) }),
            .init(title: "REMARK", isLast: true, text: { $0.detail ?? Self.lacks(of: $0) ?? Self.lastExit(of: $0) }),
        ]
    }

    private var clientColumns: [TextTable<ClientReport>.Column] {
        [
            .init(title: "CLIENT", text: { $0.client }),
            .init(title: "PID", isNumber: true, text: { "\($0.pid)" }),
            .init(title: "USER", text: { $0.user.map { OperatingSystem.name(ofUser: $0) ?? "\($0)" } }),
            .init(title: "OUTBOX", isNumber: true, text: { "\($0.outboxEvents)" }),
            .init(title: "DROPPED", isNumber: true, text: { "\($0.dropped)" }),
            .init(title: "NAME", isLast: true, text: { $0.title }),
        ]
    }

    private func events(
        _ title: String,
        of seconds: Double?,
        _ count: @escaping (WorkerReport) -> UInt64
    ) -> TextTable<WorkerReport>.Column {
        guard let seconds else { return .init(title: title, isNumber: true, text: { "\(count($0))" }) }
        let earlier = Dictionary((before?.workers ?? []).map { ($0.name, count($0)) }) { first, _ in first }
        return .init(
            title: "\(title)/S",
            isNumber: true,
            text: { worker in
                guard let start = earlier[worker.name], start <= count(worker) else { return nil }
                return ShownQuantity.rate(count(worker) - start, in: seconds)
            }
        )
    }

    /// The seconds between two reports by the supervisor's clock; nil if they are not reports of the same supervisor.
    private func secondsSince(_ before: BridgeReport?) -> Double? {
        guard let before, before.pid == report.pid, before.uptimeMilliseconds < report.uptimeMilliseconds else {
            return nil
        }
        return Double(report.uptimeMilliseconds - before.uptimeMilliseconds) / 1_000
    }

    /// How the worker's previous process ended, with `before:` in front if the worker is ready again.
    private static func lastExit(of worker: WorkerReport) -> String? {
        worker.lastExit.map { worker.state == "ready" ? "before: \($0)" : $0 }
    }

    /// The missing parts of a worker's box.
    private static func lacks(of worker: WorkerReport) -> String? {
        worker.missingFromBox.map { "runs without a part of its box: \($0.joined(separator: "; "))" }
    }

    private static func style(of state: String) -> String? {
        switch state {
        case "ready": "32"
        case "starting", "draining", "stopping", "backing off": "33"
        case "gave up": "31"
        default: "2"
        }
    }

    // MARK: - Lines

    /// What is known of the journal; nothing without one.
    private var journalLine: [StyledLine] {
        guard let journal = report.journal else { return [] }
        let files = journal.segments == 1 ? "1 file" : "\(journal.segments) files"
        var parts = ["journal, position \(journal.lastPosition)", "\(files) of \(ShownQuantity.bytes(journal.bytes))"]
        if journal.lag > 0 {
            let age = ShownQuantity.duration(.milliseconds(Int64(clamping: journal.unsafeMilliseconds ?? 0)))
            parts.append("\(journal.lag) not safe for \(age)")
        }
        // Every event is owed to its worker for a moment, so only an event that is owed for a minute is shown.
        if let owed = journal.owedMilliseconds, owed >= 60_000, let position = journal.owedPosition {
            let age = ShownQuantity.duration(.milliseconds(Int64(clamping: owed)))
            parts.append("position \(position) still owed after \(age)")
        }
        if let failure = journal.failure { parts.append(failure) }
        var line = StyledLine()
        line.append(TerminalText.harmless(parts.joined(separator: ", ")), style: journal.failure == nil ? nil : "31")
        return [line]
    }

    private var summary: String {
        let ready = report.workers.count { $0.state == "ready" }
        var parts = [
            "supervisor, process \(report.pid)", "up \(ShownQuantity.time(milliseconds: report.uptimeMilliseconds))",
            "\(ready) of \(report.workers.count == 1 ? "1 worker" : "\(report.workers.count) workers") ready",
            report.clients.count == 1 ? "1 client" : "\(report.clients.count) clients",
        ]
        if let memory = report.residentBytes { parts.append(ShownQuantity.bytes(memory)) }
        if report.isStopping { parts.append("stopping") }
        return parts.joined(separator: ", ")
    }
}
