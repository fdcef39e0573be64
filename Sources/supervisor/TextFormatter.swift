import DomainEvents
import JSONText

/// Prints each event as a line of aligned columns, for people: `12:00:00.123  canvas → CanvasSaved  {"bytes":1024}`.
struct TextFormatter: EventFormatter {
    /// How events of the input are called in the place of their worker.
    static let input = "input"

    private let originWidth: Int
    private let nameWidth: Int
    private let isColoured: Bool
    private let secondsAheadOfUTC: @Sendable (_ second: Int) -> Int

    /// - Parameters:
    ///   - origins: the workers' names; the column is as wide as the longest.
    ///   - names: the events that are known beforehand; longer ones than these push their line to the right.
    init(
        origins: [String],
        names: [String],
        isColoured: Bool,
        secondsAheadOfUTC: @escaping @Sendable (_ second: Int) -> Int
    ) {
        originWidth = (origins + [Self.input]).map(\.unicodeScalars.count).max() ?? 0
        nameWidth = min(names.map(\.unicodeScalars.count).max() ?? 0, 40)
        self.isColoured = isColoured
        self.secondsAheadOfUTC = secondsAheadOfUTC
    }

    func line(_ event: PrintedEvent) -> [UInt8] {
        let origin = padded(event.sender ?? Self.input, to: originWidth)
        let name = padded(TerminalText.harmless(event.name), to: nameWidth)
        var line = Array(
            "\(styled(time(of: event), "2"))  \(styled(origin, event.sender == nil ? "32" : "36")) → \(styled(name, "1"))  "
                .utf8
        )
        switch event.content {
        case .value(let value): JSONWriter().write(value, to: &line)
        case .bytes(let bytes): line += "(\(bytes.count) bytes that are no CBOR)".utf8
        }
        return line
    }

    private func styled(_ text: String, _ style: String) -> String {
        isColoured ? "\u{1B}[\(style)m\(text)\u{1B}[0m" : text
    }

    private func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
    }

    private func time(of event: PrintedEvent) -> String {
        let milliseconds = Int(event.context.nanosecondsSinceEpoch / 1_000_000)
        let second = milliseconds / 1000
        let secondOfDay = ((second + secondsAheadOfUTC(second)) % 86_400 + 86_400) % 86_400
        let parts = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { digits($0, 2) }
        return "\(parts.joined(separator: ":")).\(digits(milliseconds % 1000, 3))"
    }

    private func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

extension TextFormatter {
    /// Whether lines are coloured: on a terminal that can, unless its user does not want it (https://no-color.org).
    static func isColourWanted(isTerminal: Bool, environment: (String) -> String?) -> Bool {
        isTerminal && (environment("NO_COLOR") ?? "").isEmpty && environment("TERM") != "dumb"
    }
}
