import BridgePlatform
import BridgeProtocol
import CBOR
import DomainEvents
import JSONText
import Journal
import JournalFormat

/// The printed form of a journal's files, events and gaps.
enum JournalText {
    /// The result of verifying a journal.
    struct Verdict {
        let positions: Range<UInt64>
        let segments: Int
        let gaps: [JournalGap]
        /// Whether an unknown number of events may be missing at the end.
        let lacksEnd: Bool
    }

    // MARK: - Files

    static func list(_ segments: [ListedSegment], isJSON: Bool) -> String {
        if isJSON { return segments.map { json($0).text }.joined(separator: "\n") }
        guard !segments.isEmpty else { return "no segments" }
        let table = TextTable<ListedSegment>(
            columns: [
                .init(title: "FILE", text: { $0.file }),
                .init(title: "FIRST", isNumber: true, text: { $0.first.map { "\($0)" } ?? "-" }),
                .init(title: "LAST", isNumber: true, text: { $0.last.map { "\($0)" } ?? "-" }),
                .init(title: "BYTES", isNumber: true, text: { "\($0.byteCount)" }),
                .init(title: "BEGUN", isLast: true, text: { $0.begunAt.flatMap(time) ?? $0.mistake }),
            ],
            rows: segments
        )
        return table.lines(width: nil).map { $0.text(isColoured: false, width: nil) }.joined(separator: "\n")
    }

    private static func json(_ segment: ListedSegment) -> JSONLine {
        var line = JSONLine()
        line.add("file", .text(segment.file))
        line.add("first", segment.first.map { .unsigned($0) })
        line.add("last", segment.last.map { .unsigned($0) })
        line.add("bytes", .unsigned(UInt64(clamping: segment.byteCount)))
        line.add("begun", segment.begunAt.flatMap(time).map { .text($0) })
        line.add("mistake", segment.mistake.map { .text($0) })
        return line
    }

    static func trimmed(_ segments: [ListedSegment], isJSON: Bool) -> String {
        let bytes = segments.reduce(0) { $0.saturatingSum($1.byteCount) }
        if isJSON {
            var line = JSONLine()
            line.add("removed", .array(segments.map { .text($0.file) }))
            line.add("bytes", .unsigned(UInt64(clamping: bytes)))
            return line.text
        }
        let what = segments.count == 1 ? "1 segment was" : "\(segments.count) segments were"
        return "\(what) removed, \(bytes) bytes"
    }

    // MARK: - Events and gaps

    /// One line; for an event, text such as `12  2026-11-26T06:00:00Z  canvas → CanvasSaved  {"bytes":1024}`.
    static func line(_ step: JournalStep<JournalRecord>, isJSON: Bool) -> String {
        switch step {
        case .event(let record): isJSON ? json(record) : text(record)
        case .gap(let gap): isJSON ? json(gap) : TerminalText.harmless("(\(gap))")
        }
    }

    private static func text(_ record: JournalRecord) -> String {
        let content = record.payload.withUnsafeBytes { ShownPayload($0) }.text
        let origin = record.context.id.origin
        let head =
            "\(record.position)  \(time(record.context.nanosecondsSinceEpoch) ?? "-")  \(origin) → \(record.name)"
        return TerminalText.harmless("\(head)  \(String(decoding: content, as: UTF8.self))")
    }

    /// A CloudEvent with the event's position as its `sequence`.
    private static func json(_ record: JournalRecord) -> String {
        var line: [UInt8] = []
        CloudEvent(
            name: record.name,
            context: record.context,
            source: record.context.id.origin,
            sequence: record.position,
            payload: record.payload.withUnsafeBytes { ShownPayload($0) }
        ).write(to: &line)
        return String(decoding: line, as: UTF8.self)
    }

    /// `{"journal":"gap","count":3,"first":41,"last":43,"reason":"…"}`; no CloudEvent begins like this.
    private static func json(_ gap: JournalGap) -> String {
        var line = JSONLine()
        line.add("journal", .text("gap"))
        line.add("count", gap.positions == nil ? .null : .unsigned(gap.count))
        line.add("first", gap.positions.map { .unsigned($0.lowerBound) })
        line.add("last", gap.positions.map { .unsigned($0.upperBound - 1) })
        line.add("reason", .text(gap.description))
        return line.text
    }

    // MARK: - Verdicts

    static func verdict(_ verdict: Verdict, isJSON: Bool) -> String {
        let missing = missing(verdict.gaps)
        let count = verdict.positions.upperBound - verdict.positions.lowerBound
        let found = count >= missing ? count - missing : 0
        if isJSON {
            var line = JSONLine()
            line.add("events", .unsigned(found))
            line.add("missing", verdict.lacksEnd ? .null : .unsigned(missing))
            line.add("first", count == 0 ? nil : .unsigned(verdict.positions.lowerBound))
            line.add("last", count == 0 ? nil : .unsigned(verdict.positions.upperBound - 1))
            line.add("segments", .unsigned(UInt64(clamping: verdict.segments)))
            return (verdict.gaps.map(json) + [line.text]).joined(separator: "\n")
        }
        let segments = verdict.segments == 1 ? "1 segment" : "\(verdict.segments) segments"
        let events =
            switch found {
            case 0: "no events"
            case 1: "1 event"
            default: "\(found) events"
            }
        let last = verdict.gaps.isEmpty ? "everything can be read" : damage(verdict.gaps, verdict.lacksEnd)
        return (verdict.gaps.map { TerminalText.harmless("\($0)") } + ["\(events) in \(segments); \(last)"])
            .joined(separator: "\n")
    }

    /// How many events were copied into a new journal, and how many are missing.
    static func salvaged(_ count: UInt64, _ gaps: [JournalGap], lacksEnd: Bool, isJSON: Bool) -> String {
        if isJSON {
            var line = JSONLine()
            line.add("copied", .unsigned(count))
            line.add("missing", lacksEnd ? .null : .unsigned(missing(gaps)))
            return (gaps.map(json) + [line.text]).joined(separator: "\n")
        }
        let what = count == 1 ? "1 event was" : "\(count) events were"
        let last = gaps.isEmpty ? "nothing is missing" : damage(gaps, lacksEnd)
        return (gaps.map { TerminalText.harmless("\($0)") } + ["\(what) copied; \(last)"]).joined(separator: "\n")
    }

    /// How many events are known to be missing.
    private static func missing(_ gaps: [JournalGap]) -> UInt64 {
        gaps.reduce(UInt64(0)) { $0.saturatingSum($1.count) }
    }

    /// Text such as `2 places are damaged, 5 events are missing`; with `at least 5 events` if the end is damaged.
    private static func damage(_ gaps: [JournalGap], _ lacksEnd: Bool) -> String {
        let missing = missing(gaps)
        let places = gaps.count == 1 ? "1 place is" : "\(gaps.count) places are"
        if lacksEnd, missing == 0 { return "\(places) damaged, how many events are missing is unknown" }
        let lost = missing == 1 ? "1 event is" : "\(missing) events are"
        return "\(places) damaged, \(lacksEnd ? "at least " : "")\(lost) missing"
    }

    private static func time(_ nanoseconds: UInt64) -> String? {
        DateText.rfc3339(nanosecondsSinceEpoch: nanoseconds)
    }
}
