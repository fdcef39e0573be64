/// A line of text with coloured parts, at most as wide as its terminal.
struct StyledLine {
    /// The sign in the place of the text that was cut off.
    static let ellipsis = "…"

    /// The most bytes that are shown for each column; without this bound, characters of no width could go on for ever.
    private static let bytesForColumn = 32

    private var parts: [(text: String, style: String?)] = []
    /// The last part of the line in UTF-8; it may be as long as an event.
    private var rest: [UInt8] = []

    /// - Parameter style: the parameters of the escape before the text, such as `2`; nil for none.
    mutating func append(_ text: String, style: String? = nil) {
        parts.append((text, style))
    }

    mutating func end(with text: [UInt8]) { rest = text }

    /// - Parameter width: the width at which the line is cut, in columns; nil if there is no limit.
    func bytes(isColoured: Bool, width: Int?) -> [UInt8] {
        guard let width else { return whole(isColoured) }
        let most = max(width, 1) * Self.bytesForColumn
        let shown = String(decoding: rest.prefix(most), as: UTF8.self)
        let columns = parts.reduce(TextWidth.columns(of: shown)) { $0 + TextWidth.columns(of: $1.text) }
        if columns <= width, rest.count <= most { return whole(isColoured) }
        var room = width - 1
        var line: [UInt8] = []
        for (text, style) in parts + [(shown, nil)] where room > 0 {
            let part = TextWidth.prefix(of: text, columns: room)
            line += styled(String(part), isColoured ? style : nil).utf8
            // Nothing follows the cut.
            room = part.endIndex == text.endIndex ? room - TextWidth.columns(of: part) : 0
        }
        return line + Self.ellipsis.utf8
    }

    /// The bytes of ``bytes(isColoured:width:)`` as text.
    func text(isColoured: Bool, width: Int?) -> String {
        String(decoding: bytes(isColoured: isColoured, width: width), as: UTF8.self)
    }

    private func whole(_ isColoured: Bool) -> [UInt8] {
        var line: [UInt8] = []
        for (text, style) in parts { line += styled(text, isColoured ? style : nil).utf8 }
        return line + rest
    }

    private func styled(_ text: String, _ style: String?) -> String {
        style.map { "\u{1B}[\($0)m\(text)\u{1B}[0m" } ?? text
    }
}
