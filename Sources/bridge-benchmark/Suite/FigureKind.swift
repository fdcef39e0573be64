/// The meaning of a measurement's figure, for people.
struct FigureKind {
    /// The figure's name in the JSON lines.
    let name: String
    let label: String
    /// Whether the table divides the figure by that of the work's base.
    var isCompared = true

    /// The figures that a table shows, in the table's order.
    static let all = [
        FigureKind(name: "p50_us", label: "µs, median"),
        FigureKind(name: "p99_us", label: "µs, 99 %"),
        FigureKind(name: "events_per_s", label: "events/s"),
        FigureKind(name: "mb_per_s", label: "MB/s"),
        FigureKind(name: "p50_ms", label: "ms, median"),
        FigureKind(name: "ns_per_delivery", label: "ns/delivery"),
        FigureKind(name: "ratio_median", label: "x alone"),
        FigureKind(name: "control_median", label: "x alone, control"),
        FigureKind(name: "bytes", label: "bytes"),
        FigureKind(name: "ns_per_event", label: "ns/event"),
        FigureKind(name: "ns", label: "ns"),
        FigureKind(name: "allocations", label: "allocations"),
        FigureKind(name: "resident_mib", label: "MiB in RAM"),
        FigureKind(name: "worlds_per_s", label: "worlds/s"),
        FigureKind(name: "times_real_time", label: "x real time"),
        FigureKind(name: "ratio_in_round", label: "x base in its round", isCompared: false),
        FigureKind(name: "journal_mib", label: "MiB of files", isCompared: false),
        FigureKind(name: "segments", label: "segments", isCompared: false),
        FigureKind(name: "idle_us_per_s", label: "µs/s of host idle"),
    ]

    /// The base of a work: the peer and the work by which the work's figures are divided; nil if it has no base.
    static func base(of work: String) -> (peer: String, work: String)? {
        switch work {
        case _ where work.hasPrefix("W1"): ("raw-socket", "W1")
        case _ where work.hasPrefix("W2"): ("raw-socket", "W2")
        case _ where work.hasPrefix("W3"): ("raw-socket", work)
        case _ where work.hasPrefix("W4"): ("empty-program", work)
        case _ where work.hasPrefix("codec"): ("foundation-json", work)
        case _ where work.hasPrefix("growth-types"): ("event-bridge", "growth-types-1")
        case _ where work.hasPrefix("growth-workers"): ("event-bridge", "growth-workers-1")
        case _ where work.hasPrefix("growth-sent"): ("event-bridge", "growth-sent-1MB")
        case "journal-W1", "journal-W2": ("no-journal", work)
        case "journal-open": ("one-segment", work)
        case _ where work.hasPrefix("journal-"): ("sqlite", work)
        default: nil
        }
    }

    static let explanation = """
        Medians of the rounds, with the least and the most. "x base" is the median divided by that of the work's base:
        raw-socket (blocking calls, a call for each event), empty-program, foundation-json, the first step of a growth,
        or for a journal no-journal, sqlite or one-segment. "x before" is the median divided by that of the file
        compared with. Shorter times and higher rates are better.
        """
}
