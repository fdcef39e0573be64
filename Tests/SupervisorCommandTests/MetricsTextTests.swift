import BridgeControl
import DomainEvents
import Testing

@testable import supervisor

@Suite("Metrics for Prometheus")
struct MetricsTextTests {
    private let lines: [String]

    init() {
        var totals = EventTotals()
        (totals.offered, totals.handled, totals.waiting, totals.waitingBytes) = (9, 7, 2, 300)
        var settling = DurationHistogram()
        for milliseconds: UInt64 in [1, 1, 30] { settling.record(nanoseconds: milliseconds * 1_000_000) }
        let report = BridgeReport(
            pid: 1,
            library: "",
            protocolVersion: 1,
            uptimeMilliseconds: 61_005,
            workers: [
                WorkerReport(
                    name: "a \"quoted\\ one\"\nof two",
                    state: "ready",
                    starts: 3,
                    restarts: 2,
                    uptimeMilliseconds: 1_500,
                    residentBytes: 4_096,
                    settling: settling,
                    sent: totals
                ),
                WorkerReport(name: "b", state: "gave up"),
            ],
            journal: JournalReport(
                firstPosition: 3,
                lastPosition: 12,
                safePosition: 10,
                unsafeMilliseconds: 1_250,
                segments: 2,
                bytes: 131_072,
                owedPosition: 4,
                owedMilliseconds: 90_500
            )
        )
        lines = MetricsText.text(report).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private func samples(of name: String) -> [String] {
        lines.filter { $0.hasPrefix("event_bridge_\(name)") }
    }

    @Test("have a line of help and one of the kind before their samples, and names that say their unit")
    func form() {
        #expect(
            lines.prefix(3) == [
                "# HELP event_bridge_uptime_seconds Time since the start of the supervisor.",
                "# TYPE event_bridge_uptime_seconds gauge",
                "event_bridge_uptime_seconds 61.005",
            ]
        )
        for family in MetricsText.families {
            let help = lines.firstIndex { $0.hasPrefix("# HELP \(family.name) ") }
            #expect(lines[(help ?? 0) + 1] == "# TYPE \(family.name) \(family.kind)")
            #expect(family.name.hasSuffix("_total") == (family.kind == "counter"))
        }
        #expect(Set(MetricsText.families.map(\.name)).count == MetricsText.families.count)
        for line in lines where !line.hasPrefix("#") {
            #expect(Double(line.split(separator: " ").last ?? "") != nil, "\(line)")
        }
    }

    @Test("count settling times in buckets that include the shorter ones")
    func histogram() {
        let found = samples(of: "worker_settling_seconds")
        #expect(found.count == 19)
        for (bound, count) in [("0.0001", 0), ("0.0025", 2), ("0.025", 2), ("0.05", 3), ("10", 3), ("+Inf", 3)] {
            let sample = found.first { $0.contains("_bucket{") && $0.contains("le=\"\(bound)\"") }
            #expect(sample?.hasSuffix("} \(count)") == true, "\(bound)")
        }
        #expect(found[17].hasPrefix("event_bridge_worker_settling_seconds_sum{") && found[17].hasSuffix(" 0.032000000"))
        #expect(found[18].hasPrefix("event_bridge_worker_settling_seconds_count{") && found[18].hasSuffix(" 3"))
    }

    @Test("name their worker, escaped, and leave out what is not known")
    func labels() {
        let name = #"a \"quoted\\ one\"\nof two"#
        #expect(
            samples(of: "worker_ready") == [
                #"event_bridge_worker_ready{worker="\#(name)"} 1"#, #"event_bridge_worker_ready{worker="b"} 0"#,
            ]
        )
        #expect(
            samples(of: "worker_uptime_seconds") == [#"event_bridge_worker_uptime_seconds{worker="\#(name)"} 1.500"#]
        )
        #expect(samples(of: "worker_resident_memory_bytes").count == 1)
        #expect(samples(of: "worker_restarts_total").first?.hasSuffix("\"} 2") == true)
        #expect(samples(of: "worker_outbox_bytes").first?.hasSuffix("\"} 300") == true)
    }

    @Test("escape a quote, a backslash and a line feed that are parts of longer characters")
    func longerCharacters() {
        func text(_ name: String) -> String {
            let workers = [WorkerReport(name: name, state: "ready")]
            return MetricsText.text(
                BridgeReport(pid: 1, library: "", protocolVersion: 1, uptimeMilliseconds: 0, workers: workers)
            )
        }
        let plain = text("a").utf8.count { $0 == UInt8(ascii: "\n") }
        for (name, escaped) in [
            ("a\r\nb", #"a\#r\nb"#), ("\"\u{301}b", #"\"\#u{301}b"#), ("\\\u{301}b", #"\\\#u{301}b"#),
        ] {
            let found = text(name)
            #expect(found.utf8.count { $0 == UInt8(ascii: "\n") } == plain)
            // Compared by bytes, as a String's search does not look into a character.
            let sample = "event_bridge_worker_ready{worker=\"\(escaped)\"} 1\n"
            #expect(Array(found.utf8).firstRange(of: Array(sample.utf8)) != nil, "\(found)")
        }
    }

    @Test("show the journal's positions, sizes and lag, and nothing without a journal")
    func journal() {
        #expect(
            samples(of: "journal_") == [
                "event_bridge_journal_last_position 12", "event_bridge_journal_first_position 3",
                "event_bridge_journal_unsafe_events 2", "event_bridge_journal_unsafe_seconds 1.250",
                "event_bridge_journal_owed_seconds 90.500", "event_bridge_journal_segments 2",
                "event_bridge_journal_bytes 131072",
                "event_bridge_journal_failed 0",
            ]
        )
        let report = BridgeReport(pid: 1, library: "", protocolVersion: 1, uptimeMilliseconds: 0)
        #expect(!MetricsText.text(report).contains("\nevent_bridge_journal_"))
    }

    @Test("count the events of both directions")
    func directions() {
        let offered = samples(of: "worker_events_offered_total")
        #expect(offered.count == 4)
        #expect(offered[0].hasSuffix(#",direction="to"} 9"#) && offered[1].hasSuffix(#",direction="from"} 0"#))
        #expect(samples(of: "worker_events_handled_total")[0].hasSuffix(" 7"))
    }
}
