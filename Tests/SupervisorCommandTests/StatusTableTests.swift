import BridgeControl
import BridgePlatform
import DomainEvents
import Testing

@testable import supervisor

@Suite("The table of a status")
struct StatusTableTests {
    private func worker(
        _ name: String,
        _ state: String,
        sent: UInt64 = 0,
        received: UInt64 = 0,
        pid: Int32? = nil,
        detail: String? = nil,
        memory: UInt64? = nil
    ) -> WorkerReport {
        var worker = WorkerReport(name: name, pid: pid, state: state, detail: detail, residentBytes: memory)
        worker.uptimeMilliseconds = pid == nil ? nil : 200_000
        (worker.sent.offered, worker.received.offered) = (sent, received)
        return worker
    }

    private func report(
        _ workers: [WorkerReport],
        clients: [ClientReport] = [],
        at milliseconds: UInt64 = 3_725_000
    ) -> BridgeReport {
        BridgeReport(
            pid: 4_211,
            library: "0.1.0",
            protocolVersion: 1,
            uptimeMilliseconds: milliseconds,
            residentBytes: 34 << 20,
            workers: workers,
            clients: clients
        )
    }

    @Test("has a line for the supervisor and one for each worker, in columns")
    func columns() {
        let table = StatusTable(
            report: report(
                [
                    worker("provisioning", "ready", sent: 1_200, received: 7, pid: 17, memory: 12_900_000),
                    worker("canvas", "gave up", detail: "exited with status 3"),
                ],
                clients: [
                    ClientReport(client: "client-12", title: "second\u{1B} window", pid: 4_215, user: 0, dropped: 3)
                ]
            )
        )
        #expect(
            table.lines() == [
                "supervisor, process 4211, up 1h02m, 1 of 2 workers ready, 1 client, 34 MiB",
                "",
                "WORKER        PID  STATE    UPTIME  RESTARTS    IN  OUT  OUTBOX  MEMORY  REMARK",
                "provisioning   17  ready     3m20s         0  1200    7       0  12 MiB",
                "canvas             gave up                 0     0    0       0          exited with status 3",
                "",
                "CLIENT      PID  USER  OUTBOX  DROPPED  NAME",
                "client-12  4215  root       0        3  second\\u001b window",
            ]
        )
    }

    @Test("has a line for the journal, with the events that are not safe, or why it takes no more")
    func journal() {
        var journal = JournalReport(firstPosition: 1, lastPosition: 12, safePosition: 12, segments: 1, bytes: 32 << 20)
        func line() -> String {
            var report = report([worker("a", "ready")])
            report.journal = journal
            return StatusTable(report: report).lines()[1]
        }
        #expect(line() == "journal, position 12, 1 file of 32 MiB")
        (journal.safePosition, journal.unsafeMilliseconds, journal.segments) = (10, 40, 3)
        #expect(line() == "journal, position 12, 3 files of 32 MiB, 2 not safe for 40 ms")
        (journal.safePosition, journal.owedPosition, journal.owedMilliseconds) = (12, 4, 59_999)
        #expect(line() == "journal, position 12, 3 files of 32 MiB")
        journal.owedMilliseconds = 7_200_000
        #expect(line() == "journal, position 12, 3 files of 32 MiB, position 4 still owed after 7200 s")
        journal.failure = "the journal kept is closed for good"
        #expect(line().hasSuffix(", the journal kept is closed for good"))
    }

    @Test("counts events in a second, by the clock of the supervisor")
    func rates() {
        let before = report([worker("a", "ready", sent: 100, received: 5)], at: 10_000)
        let now = report([worker("a", "ready", sent: 160, received: 8), worker("new", "ready", sent: 9)], at: 14_000)
        let lines = StatusTable(report: now, before: before).lines()
        #expect(lines[2] == "WORKER  STATE  RESTARTS  IN/S  OUT/S  OUTBOX")
        #expect(lines[3] == "a       ready         0    15    0.8       0")
        // The worker was not there before.
        #expect(lines[4] == "new     ready         0                    0")
        // Another supervisor counts from its own start.
        var other = before
        other.pid = 1
        #expect(StatusTable(report: now, before: other).lines()[2].contains("  IN  OUT  "))
    }

    @Test("tells how long a worker takes, if one has settled anything")
    func settlingTimes() {
        var settled = worker("a", "ready")
        settled.settling = DurationHistogram()
        for _ in 0..<99 { settled.settling?.record(nanoseconds: 250_000) }
        settled.settling?.record(nanoseconds: 40_000_000)
        let lines = StatusTable(report: report([settled, worker("b", "ready")])).lines()
        #expect(lines[2].contains("OUTBOX     P99"))
        #expect(lines[3].contains(" 25") && lines[3].contains(" µs"))
        #expect(!lines[4].contains("µs"))
        let durations: [(Duration, String)] = [
            (.nanoseconds(400), "0.4 µs"), (.microseconds(12), "12 µs"), (.microseconds(3_400), "3.4 ms"),
            (.milliseconds(999), "999 ms"), (.seconds(12), "12 s"), (.seconds(4_000), "4000 s"), (.zero, "0 µs"),
        ]
        for (duration, text) in durations { #expect(ShownQuantity.duration(duration) == text) }
    }

    @Test("says what a worker's box is without, and of a client of an older host no user")
    func lacks() {
        var boxed = worker("a", "ready")
        boxed.missingFromBox = ["keeping signals needs Linux 6.12", "no network needs a filter"]
        boxed.lastExit = "killed by SIGKILL (9)"
        let client = ClientReport(client: "client-1", title: "t", pid: 1)
        let lines = StatusTable(report: report([boxed], clients: [client])).lines()
        #expect(
            lines[3].hasSuffix(
                "  runs without a part of its box: keeping signals needs Linux 6.12; no network needs a filter"
            )
        )
        #expect(lines[5] == "CLIENT    PID  OUTBOX  DROPPED  NAME")
    }

    @Test("is cut at the width of the terminal, never wrapped, and a cut colour ends", arguments: [1, 7, 20, 41, 60])
    func width(width: Int) {
        let shown = report([worker("provisioning", "ready", pid: 3, detail: String(repeating: "x", count: 90))])
        let plain = StatusTable(report: shown).lines(width: width)
        #expect(plain.allSatisfy { $0.unicodeScalars.count <= width })
        let coloured = StatusTable(report: shown, isColoured: true).lines(width: width)
        for (line, plainLine) in zip(coloured, plain) {
            var bare = line
            while let start = bare.firstIndex(of: "\u{1B}"), let end = bare[start...].firstIndex(of: "m") {
                bare.removeSubrange(start...end)
            }
            #expect(bare == plainLine)
            #expect(!line.contains("\u{1B}") || line.hasSuffix("\u{1B}[0m") || line.contains("\u{1B}[0m"))
        }
        #expect(!plain.joined().contains("\u{1B}"))
    }

    @Test("puts remarks below their workers where they do not fit beside them")
    func remarksBelow() {
        let shown = report([
            worker("provisioning", "ready", pid: 17, memory: 12_900_000),
            worker("canvas", "gave up", detail: "5 restarts within 10 s; the last one exited with status 3"),
        ])
        #expect(
            StatusTable(report: shown).lines(width: 80).dropFirst(2) == [
                "WORKER        PID  STATE    UPTIME  RESTARTS  IN  OUT  OUTBOX  MEMORY",
                "provisioning   17  ready     3m20s         0   0    0       0  12 MiB",
                "canvas             gave up                 0   0    0       0        ",
                "  5 restarts within 10 s; the last one exited with status 3",
            ]
        )
        #expect(StatusTable(report: shown).lines(width: 140) == StatusTable(report: shown).lines())
    }

    @Test(
        "shows of a bad worker only: down, restarted of late, or with an event that it refused or died of",
        arguments: [
            ("ready", 0, 0, 0, 0, false), ("dormant", 0, nil, 0, 0, false), ("dormant", 3, nil, 0, 0, false),
            ("ready", 1, 599_999, 0, 0, true), ("ready", 1, 600_000, 0, 0, false), ("ready", 0, 9, 0, 0, false),
            ("ready", 0, 0, 1, 0, true), ("ready", 0, 0, 0, .max, true), ("stopped", 0, nil, 0, 0, true),
            ("gave up", 0, nil, 0, 0, true), ("backing off", 0, nil, 0, 0, true), ("unheard of", 0, 0, 0, 0, true),
        ] as [(String, Int, UInt64?, UInt64, UInt64, Bool)]
    )
    func bad(state: String, restarts: Int, uptime: UInt64?, refused: UInt64, deadLettered: UInt64, isBad: Bool) {
        var worker = WorkerReport(name: "a", state: state, restarts: restarts, uptimeMilliseconds: uptime)
        (worker.sent.refused, worker.sent.deadLettered) = (refused, deadLettered)
        #expect(worker.isBad == isBad)
        let report = report([worker])
        #expect(report.onlyBad.workers.count == (isBad ? 1 : 0))
        let lines = StatusTable(report: report, isOnlyBad: true).lines()
        #expect(lines.count == (isBad ? 4 : 1) && lines[0].contains("of 1 worker ready"))
    }

    @Test("obeys no control characters of a worker, and says that there are no workers")
    func harmless() {
        let lines = StatusTable(report: report([worker("a\u{1B}[2J", "ready")])).lines()
        #expect(lines[3].hasPrefix("a\\u001b[2J  ready"))
        // U+202E reverses the text after it, U+2066 isolates it, U+2028 ends the line; the hyphen U+2010 does none of
        // these.
        #expect(TerminalText.harmless("a\u{202E}b\u{2066}c\u{2028}d\u{2010}") == "a\\u202eb\\u2066c\\u2028d\u{2010}")
        #expect(StatusTable(report: report([])).lines().count == 1)
    }

    @Test("writes times, sizes and rates shortly")
    func quantities() {
        let times: [(UInt64, String)] = [
            (0, "0s"), (59_999, "59s"), (60_000, "1m00s"), (3_600_000, "1h00m"), (90_000_000, "1d01h"),
        ]
        for (time, text) in times { #expect(ShownQuantity.time(milliseconds: time) == text) }
        let sizes: [(UInt64, String)] = [
            (0, "0 B"), (1_023, "1023 B"), (1_024, "1 KiB"), (3_500, "3.4 KiB"), (1_048_575, "1 MiB"),
            (.max, "16 EiB"),
        ]
        for (size, text) in sizes { #expect(ShownQuantity.bytes(size) == text) }
        let rates: [(UInt64, Double, String)] = [
            (0, 1, "0"), (1, 1, "1"), (1, 4, "0.3"), (99, 10, "9.9"), (1_000, 1, "1000"), (1, 0, "0"), (1, 1_000, "0"),
        ]
        for (count, seconds, text) in rates { #expect(ShownQuantity.rate(count, in: seconds) == text) }
    }

    @Test("as JSON is one object in a line")
    func json() {
        let text = ReportJSON.text(report([worker("a", "ready")]))
        #expect(text.hasPrefix(#"{"pid":4211,"library":"0.1.0","protocolVersion":1,"uptimeMilliseconds":3725000,"#))
        #expect(text.contains(#""workers":[{"name":"a","#) && !text.contains("\n"))
    }
}
