import BridgeControl
import DomainEvents

/// The printed table of events by name: what the supervisor has reported about each name, and the counts.
enum EventsText {
    struct Row: Sendable, Hashable, Encodable {
        let event: String
        let publishedBy: [String]
        let wantedBy: [String]
        let count: UInt64
        /// Events per second of the counted time.
        let perSecond: Double
        let bytes: UInt64
        let fields: [String]
    }

    /// - Parameters:
    ///   - known: what the supervisor has reported.
    ///   - counted: the events that have passed.
    ///   - report: the report that says which workers belong to which pool.
    ///   - seconds: how long the events were counted.
    static func rows(
        _ known: [EventNameReport],
        _ counted: [EventName: EventTally.Entry],
        _ report: BridgeReport,
        seconds: Double
    ) -> [Row] {
        let pools = Dictionary(report.workers.map { ($0.name, $0.pool ?? $0.name) }) { first, _ in first }
        let books = Dictionary(
            known.filter { !WorkerReporter.reports.contains(EventName($0.name)) }.map { (EventName($0.name), $0) }
        ) { first, _ in first }
        return Set(books.keys).union(counted.keys).map { name in
            let (book, entry) = (books[name], counted[name] ?? EventTally.Entry())
            let publishers = Set(entry.publishers.map { pools[$0] ?? $0 }).union(book?.publishedBy ?? [])
            return Row(
                event: name.text,
                publishedBy: publishers.sorted(),
                wantedBy: book?.wantedBy ?? [],
                count: entry.count,
                perSecond: seconds > 0 ? Double(entry.count) / seconds : 0,
                bytes: entry.bytes,
                fields: entry.fields
            )
        }.sorted { $0.event.utf8.lexicographicallyPrecedes($1.event.utf8) }
    }

    /// The titles, and a line for each name (two on a narrow terminal), all cut at `width`; nil means no limit.
    static func table(_ rows: [Row], seconds: Double, isColoured: Bool = false, width: Int? = nil) -> String {
        guard !rows.isEmpty else { return "no events" }
        let table = TextTable<Row>(
            columns: [
                .init(title: "EVENT", text: { $0.event }),
                .init(title: "PUBLISHED BY", text: { list($0.publishedBy) }),
                .init(title: "WANTED BY", text: { list($0.wantedBy) }),
                .init(title: "COUNT", isNumber: true, text: { "\($0.count)" }),
                .init(title: "PER SECOND", isNumber: true, text: { ShownQuantity.rate($0.count, in: seconds) }),
                .init(title: "BYTES", isNumber: true, text: { ShownQuantity.bytes($0.bytes) }),
                .init(title: "FIELDS", isLast: true, text: { $0.fields.joined(separator: ", ") }),
            ],
            rows: rows
        )
        return table.lines(width: width).map { $0.text(isColoured: isColoured, width: width) }.joined(separator: "\n")
    }

    /// For each name, a JSON object on a line of its own.
    static func json(_ rows: [Row]) -> String { rows.map { ReportJSON.text($0) }.joined(separator: "\n") }

    private static func list(_ processes: [String]) -> String {
        processes.isEmpty ? "-" : processes.joined(separator: ", ")
    }
}
