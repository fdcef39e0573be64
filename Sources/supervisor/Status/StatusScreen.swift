import BridgeControl
import BridgePlatform

/// Shows reports one after the other: in the same place on a terminal, or one below the other.
///
/// A slow reader misses some of the reports. When the reader has gone, or the output cannot be written, no more are
/// shown.
final class StatusScreen: Sendable {
    enum Form: Sendable, Hashable {
        /// Each report replaces the previous report.
        case inPlace(isColoured: Bool)
        /// Each report is a block of lines, with an empty line after it.
        case blocks
        /// Each report is a JSON object in a line.
        case json
    }

    private let file: SystemFile
    private let form: Form
    private let isOnlyBad: Bool
    private let output: LineOutput
    /// For sentences on standard error; nil on a terminal, where they are part of the screen.
    ///
    /// It has a thread of its own: standard error may stall, and the caller must still notice a request to end.
    private let diagnostics: Diagnostics?

    /// The most bytes that wait for the reader: some screens of text, because older reports are of no use.
    private static let capacity = 64 << 10

    /// - Parameter isOnlyBad: whether workers that need no attention are left out.
    init(_ file: SystemFile, form: Form, isOnlyBad: Bool) throws {
        self.file = file
        self.form = form
        self.isOnlyBad = isOnlyBad
        output = try LineOutput(file, name: "output", capacity: Self.capacity, turns: .standardOutput)
        if case .inPlace = form { diagnostics = nil } else { diagnostics = try .onStandardError() }
    }

    /// Whether further reports can be shown; false once a write has failed, for whatever reason.
    var isUsable: Bool { output.hasReader && output.failure == nil }

    /// Why reports could not be shown; nil if they could, or if the reader has gone.
    var failure: SystemFileError? { output.failure }

    /// - Parameter before: the report that was shown last; nil for the first report, and for the first one after the
    ///   supervisor did not answer.
    func show(_ report: BridgeReport, before: BridgeReport?) {
        switch form {
        case .inPlace: draw(table(report, before))
        case .blocks:
            let lines = StatusTable(report: report, before: before, isOnlyBad: isOnlyBad).lines()
            output.write(lines.joined(separator: "\n") + "\n", whenFull: .leaveOut)
        case .json: output.write(ReportJSON.text(isOnlyBad ? report.onlyBad : report), whenFull: .leaveOut)
        }
    }

    /// Shows why there is no report; on a terminal the sentence is shown below the last report.
    ///
    /// - Parameter isNews: whether the sentence was not shown before.
    func tell(_ sentence: String, last: BridgeReport?, isNews: Bool) {
        if case .inPlace = form {
            let below = cut(TerminalText.harmless(sentence), to: file.terminalSize?.columns)
            draw((last.map { table($0, nil) + [""] } ?? []) + [below])
        } else if isNews {
            diagnostics?.sayIfRoom(sentence)
        }
    }

    /// Shows the cursor again; the last report stays on the terminal.
    func end() {
        if case .inPlace = form { output.write(Self.showCursor, whenFull: .take) }
    }

    /// Waits until everything is written, or ``abandon()`` is called.
    func flush() {
        output.flush()
        diagnostics?.output.flush()
    }

    /// Lets no caller wait for a reader any more.
    func abandon() {
        output.abandon()
        diagnostics?.output.abandon()
    }

    // MARK: - On a terminal

    // ECMA-48 (ISO 6429): CUP, EL, ED, and the DEC private mode of the cursor.
    private static let home = "\u{1B}[H"
    private static let clearToEndOfLine = "\u{1B}[K"
    private static let clearToEnd = "\u{1B}[J"
    private static let hideCursor = "\u{1B}[?25l"
    private static let showCursor = "\u{1B}[?25h"

    private func table(_ report: BridgeReport, _ before: BridgeReport?) -> [String] {
        let isColoured = form == .inPlace(isColoured: true)
        return StatusTable(report: report, before: before, isColoured: isColoured, isOnlyBad: isOnlyBad)
            .lines(width: file.terminalSize?.columns)
    }

    private func draw(_ lines: [String]) {
        // The last row stays free: a line feed there would push the first row out.
        let room = max((file.terminalSize?.rows ?? .max) - 1, 1)
        var shown = lines
        if lines.count > room { shown = lines.prefix(room - 1) + ["… and \(lines.count - room + 1) more"] }
        let text = shown.joined(separator: "\(Self.clearToEndOfLine)\n")
        output.write("\(Self.hideCursor)\(Self.home)\(text)\(Self.clearToEnd)", whenFull: .leaveOut)
    }

    private func cut(_ text: String, to width: Int?) -> String {
        var line = StyledLine()
        line.append(text)
        return line.text(isColoured: false, width: width)
    }
}
