import BridgePlatform

/// Rows in columns, for people: each column has a title and is as wide as its texts.
struct TextTable<Row> {
    /// The texts of a column, one for each row; a column without texts is left out.
    struct Column {
        let title: String
        var isNumber = false
        var isLast = false
        let text: (Row) -> String?
        var style: (Row) -> String? = { _ in nil }
    }

    let columns: [Column]
    let rows: [Row]

    /// The titles, and then a line for each row; empty if there are no rows.
    ///
    /// If the table is too wide, the text of the last column gets a line of its own below its row.
    ///
    /// - Parameter width: the width of the terminal; nil if there is no limit.
    func lines(width: Int?) -> [StyledLine] {
        guard !rows.isEmpty else { return [] }
        let columns = columns.filter { column in rows.contains { column.text($0) != nil } }
        let cells = rows.map { row in columns.map { TerminalText.harmless($0.text(row) ?? "") } }
        let widths = columns.indices.map { index in
            max(TextWidth.columns(of: columns[index].title), cells.map { TextWidth.columns(of: $0[index]) }.max() ?? 0)
        }
        let isTooWide = widths.reduce(2 * (widths.count - 1), +) > width ?? .max
        let isBelow = isTooWide && columns.last?.isLast == true
        let beside = isBelow ? columns.dropLast() : columns
        let titles = line(beside, columns.map(\.title), widths) { _ in "1" }
        return [titles]
            + zip(rows, cells).flatMap { row, texts in
                let line = line(beside, texts, widths) { $0.style(row) }
                guard isBelow, let text = texts.last, !text.isEmpty else { return [line] }
                var below = StyledLine()
                below.append("  \(text)")
                return [line, below]
            }
    }

    private func line(
        _ columns: [Column],
        _ texts: [String],
        _ widths: [Int],
        style: (Column) -> String?
    ) -> StyledLine {
        var line = StyledLine()
        for index in columns.indices {
            let (column, text) = (columns[index], texts[index])
            let gap = index == 0 ? "" : "  "
            let padding = String(repeating: " ", count: widths[index] - TextWidth.columns(of: text))
            // The last column needs no padding.
            let shown = column.isLast ? text : column.isNumber ? padding + text : text + padding
            guard !shown.isEmpty else { continue }
            line.append(gap)
            line.append(shown, style: style(column))
        }
        return line
    }
}
