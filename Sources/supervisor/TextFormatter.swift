import BridgePlatform
import BridgeProtocol
import DomainEvents
import JSONText

/// Prints each event as a line of aligned columns, for people: `12:00:00.123  canvas → CanvasSaved  {"bytes":1024}`.
struct TextFormatter: EventFormatter {
    /// The text in the sender's column for events of the supervisor itself, such as those of its input.
    static let input = "input"

    private let columns: ColumnWidths
    private let isColoured: Bool
    private let width: @Sendable () -> Int?
    private let secondsAheadOfUTC: @Sendable (_ second: Int) -> Int

    /// - Parameters:
    ///   - origins: the workers' names; their column is as wide as the longest or `input`, and grows with later names.
    ///   - names: the names of the events known beforehand; their column is as wide as the longest, and grows likewise.
    ///     Neither column becomes wider than ``ColumnWidths/widest``.
    ///   - width: the terminal's present width in columns, at which lines are cut; nil to cut no line.
    init(
        origins: [String],
        names: [String],
        isColoured: Bool,
        secondsAheadOfUTC: @escaping @Sendable (_ second: Int) -> Int,
        width: @escaping @Sendable () -> Int? = { nil }
    ) {
        columns = ColumnWidths(
            origin: (origins + [Self.input]).map(TextWidth.columns).max() ?? 0,
            name: names.map(TextWidth.columns).max() ?? 0
        )
        self.isColoured = isColoured
        self.width = width
        self.secondsAheadOfUTC = secondsAheadOfUTC
    }

    func line(_ event: PrintedEvent) -> [UInt8] {
        let origin = TerminalText.harmless(event.sender ?? Self.input)
        let name = TerminalText.harmless(event.name)
        let (originColumns, nameColumns) = (TextWidth.columns(of: origin), TextWidth.columns(of: name))
        let widths = columns.make(origin: originColumns, name: nameColumns)
        var line = StyledLine()
        line.append(
            ClockTime.text(event.context.nanosecondsSinceEpoch, secondsAheadOfUTC: secondsAheadOfUTC),
            style: "2"
        )
        line.append("  ")
        line.append(origin + blanks(widths.origin - originColumns), style: event.sender == nil ? "32" : "36")
        line.append(" → ")
        line.append(name + blanks(widths.name - nameColumns), style: "1")
        line.append("  ")
        line.end(with: event.content.text)
        return line.bytes(isColoured: isColoured, width: width())
    }

    /// Text such as `(37 events BoxProvisioned are missing here: they came faster than they were read)`.
    func line(_ gap: PrintedGap) -> [UInt8] {
        let name = gap.name.map { " \(TerminalText.harmless($0))" } ?? ""
        let what =
            switch gap.count {
            case 1?: "1 event\(name) is"
            case let count?: "\(count) events\(name) are"
            case nil: "events\(name) may be"
            }
        let why =
            switch gap.reason {
            case .dropped: "they came faster than they were read"
            case .away: "there was no link to the supervisor"
            }
        var line = StyledLine()
        line.append("(\(what) missing here: \(why))", style: "33")
        return line.bytes(isColoured: isColoured, width: width())
    }

    private func blanks(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
}

extension TextFormatter {
    /// The formatter for standard output: on a terminal, lines may be coloured, and are cut at its width if known.
    static func onStandardOutput(origins: [String], names: [String]) -> TextFormatter {
        let isTerminal = SystemFile.standardOutput.isTerminal
        return TextFormatter(
            origins: origins,
            names: names,
            isColoured: isColourWanted(isTerminal: isTerminal, environment: CurrentProcess.environment),
            secondsAheadOfUTC: OperatingSystem.secondsAheadOfUTC,
            // Asked for each line: the user may have resized the terminal.
            width: { isTerminal ? SystemFile.standardOutput.terminalWidth : nil }
        )
    }

    /// Whether lines are coloured: on a terminal, unless `TERM` is `dumb` or `NO_COLOR` has a value (no-color.org).
    static func isColourWanted(isTerminal: Bool, environment: (String) -> String?) -> Bool {
        isTerminal && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    }
}
