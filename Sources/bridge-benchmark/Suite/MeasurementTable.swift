/// The table for people: a row for each figure of each work.
struct MeasurementTable {
    private struct Key: Hashable {
        let peer: String
        let work: String
        let figure: String
    }

    private var values: [Key: [Double]] = [:]
    /// The works in the order in which they came, with the peers of each.
    private var works: [(work: String, peers: [String])] = []

    init(_ measurements: [Measurement]) {
        for measurement in measurements {
            add(measurement.peer, measurement.work)
            for figure in measurement.figures {
                let key = Key(peer: measurement.peer, work: measurement.work, figure: figure.name)
                values[key, default: []].append(figure.value)
            }
        }
    }

    /// The table as text, without a final newline; if `before` is not nil, with columns for that earlier run.
    func text(comparedWith before: MeasurementTable?) -> String {
        var rows = [["work", "by", "figure", "median", "least", "most", "x base"]]
        if before != nil { rows[0] += ["before", "x before"] }
        for (peer, work) in works.flatMap({ work, peers in peers.map { ($0, work) } }) {
            for kind in FigureKind.all {
                let key = Key(peer: peer, work: work, figure: kind.name)
                guard let all = values[key]?.sorted(), let least = all.first, let most = all.last else { continue }
                let median = median(key) ?? least
                let base = (kind.isCompared ? FigureKind.base(of: work) : nil).flatMap {
                    self.median(Key(peer: $0.peer, work: $0.work, figure: kind.name))
                }
                var row = [work, peer, kind.label, Self.text(median), Self.text(least), Self.text(most)]
                row.append(Self.ratio(median, base))
                if let before {
                    let earlier = before.median(key)
                    row += [earlier.map(Self.text) ?? "-", Self.ratio(median, earlier)]
                }
                rows.append(row)
            }
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { $1.padded(to: widths[$0], atStart: $0 > 2) }
            return String(cells.joined(separator: "  ").trimmingEnd)
        }.joined(separator: "\n")
    }

    private mutating func add(_ peer: String, _ work: String) {
        if let index = works.firstIndex(where: { $0.work == work }) {
            if !works[index].peers.contains(peer) { works[index].peers.append(peer) }
        } else {
            works.append((work, [peer]))
        }
    }

    private func median(_ key: Key) -> Double? {
        values[key]?.median
    }

    // MARK: - Numbers

    private static func ratio(_ value: Double, _ base: Double?) -> String {
        guard let base, base > 0 else { return "-" }
        return decimal(value / base, places: 2)
    }

    /// The number with about four digits; all digits before the point are kept, in groups of three.
    private static func text(_ value: Double) -> String {
        let places =
            switch abs(value) {
            case ..<10: 3
            case ..<100: 2
            case ..<1_000: 1
            default: 0
            }
        return decimal(value, places: places)
    }

    private static func decimal(_ value: Double, places: Int) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        let scaled = Int64((abs(value) * scale).rounded())
        let sign = value < 0 && scaled > 0 ? "-" : ""
        let whole = grouped(scaled / Int64(scale))
        if places == 0 { return sign + whole }
        return sign + whole + "." + String(repeating: "0", count: places - "\(scaled % Int64(scale))".count)
            + "\(scaled % Int64(scale))"
    }

    private static func grouped(_ number: Int64) -> String {
        let digits = Array("\(number)")
        return digits.enumerated().map { index, digit in
            index > 0 && (digits.count - index).isMultiple(of: 3) ? ",\(digit)" : "\(digit)"
        }.joined()
    }
}

extension String {
    fileprivate var trimmingEnd: Substring {
        self[..<(lastIndex { $0 != " " }.map { index(after: $0) } ?? startIndex)]
    }
}
