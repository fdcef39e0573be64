import BridgeControl
import DomainEvents

/// A metric: its name, and the samples with that name.
struct MetricFamily: Sendable {
    /// One number, with the labels that distinguish it within its family.
    struct Sample: Sendable {
        /// The end of the name for a part of a histogram, such as `_bucket`; empty for other samples.
        var suffix = ""
        let value: String
        var labels: [(name: String, value: String)] = []

        static func count(_ number: UInt64) -> Sample { Sample(value: "\(number)") }

        static func flag(_ isSet: Bool) -> Sample { Sample(value: isSet ? "1" : "0") }

        static func seconds(_ milliseconds: UInt64) -> Sample {
            let thousandths = String(milliseconds % 1_000 + 1_000).dropFirst()
            return Sample(value: "\(milliseconds / 1_000).\(thousandths)")
        }
    }

    let name: String
    let kind: String
    let help: String
    let samples: @Sendable (BridgeReport) -> [Sample]

    private init(
        _ name: String,
        _ kind: String,
        _ help: String,
        _ samples: @escaping @Sendable (BridgeReport) -> [Sample]
    ) {
        self.name = "event_bridge_\(name)"
        self.kind = kind
        self.help = help
        self.samples = samples
    }

    static func gauge(
        _ name: String,
        _ help: String,
        _ samples: @escaping @Sendable (BridgeReport) -> [Sample]
    ) -> MetricFamily { MetricFamily(name, "gauge", help, samples) }

    static func counter(
        _ name: String,
        _ help: String,
        _ samples: @escaping @Sendable (BridgeReport) -> [Sample]
    ) -> MetricFamily { MetricFamily(name, "counter", help, samples) }

    /// A histogram of each worker that has one.
    static func histogram(
        _ name: String,
        _ help: String,
        _ histogram: @escaping @Sendable (WorkerReport) -> DurationHistogram?
    ) -> MetricFamily {
        MetricFamily(name, "histogram", help) { report in
            report.workers.flatMap { worker in
                histogram(worker).map { samples(of: $0, labels: [("worker", worker.name)]) } ?? []
            }
        }
    }

    /// The upper bounds of the buckets: round numbers from a tenth of a millisecond to ten seconds.
    private static let bounds: [(microseconds: Int64, seconds: String)] = [
        (100, "0.0001"), (250, "0.00025"), (500, "0.0005"), (1_000, "0.001"), (2_500, "0.0025"), (5_000, "0.005"),
        (10_000, "0.01"), (25_000, "0.025"), (50_000, "0.05"), (100_000, "0.1"), (250_000, "0.25"), (500_000, "0.5"),
        (1_000_000, "1"), (2_500_000, "2.5"), (5_000_000, "5"), (10_000_000, "10"),
    ]

    private static func samples(
        of histogram: DurationHistogram,
        labels: [(name: String, value: String)]
    ) -> [Sample] {
        let buckets = bounds.map { bound in
            Sample(
                suffix: "_bucket",
                value: "\(histogram.count(upTo: .microseconds(bound.microseconds)))",
                labels: labels + [("le", bound.seconds)]
            )
        }
        let (seconds, attoseconds) = histogram.sum.components
        let nanoseconds = String(attoseconds / 1_000_000_000 + 1_000_000_000).dropFirst()
        return buckets + [
            Sample(suffix: "_bucket", value: "\(histogram.count)", labels: labels + [("le", "+Inf")]),
            Sample(suffix: "_sum", value: "\(seconds).\(nanoseconds)", labels: labels),
            Sample(suffix: "_count", value: "\(histogram.count)", labels: labels),
        ]
    }

    /// A counter of the events to each worker and from each worker.
    static func events(
        _ what: String,
        _ help: String,
        _ count: @escaping @Sendable (EventTotals) -> UInt64
    ) -> MetricFamily {
        .counter("worker_events_\(what)_total", help) { $0.ofEachDirection { .count(count($0)) } }
    }

    func text(_ report: BridgeReport) -> String {
        let lines = samples(report).map { sample in
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
            return "\(name)\(sample.suffix)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)"
        }
        return (["# HELP \(name) \(help)", "# TYPE \(name) \(kind)"] + lines).joined(separator: "\n")
    }

    /// Escapes each scalar by itself: a line feed after a carriage return, and a quote before a combining mark, are
    /// parts of a longer character.
    private static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\"": escaped.append(contentsOf: "\\\"".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
