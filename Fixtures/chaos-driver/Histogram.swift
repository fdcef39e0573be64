/// How many events were on their way to a worker when it was killed.
struct Histogram {
    private var counts: [Int: Int] = [:]
    private(set) var total = 0
    private var loaded = 0

    /// A kill with fewer events on their way proves little.
    static let leastLoad = 100

    mutating func add(_ events: Int) {
        counts[Self.bucket(events), default: 0] += 1
        total += 1
        if events >= Self.leastLoad { loaded += 1 }
    }

    var loadedPercent: Double { total == 0 ? 0 : 100 * Double(loaded) / Double(total) }

    /// The lower bound of the bucket with this number of events: 0, 1, 10, 100, 1,000, and from there on doublings.
    private static func bucket(_ events: Int) -> Int {
        var bound = 1_000
        if events < bound { return events < 1 ? 0 : events < 10 ? 1 : events < 100 ? 10 : 100 }
        while bound * 2 <= events { bound *= 2 }
        return bound
    }

    var lines: [String] {
        counts.keys.sorted().map { bound in
            let count = counts[bound] ?? 0
            let bar = String(repeating: "#", count: max(1, 50 * count / max(total, 1)))
            let label = "\(bound)+"
            return "  " + String(repeating: " ", count: max(0, 7 - label.count)) + "\(label)  \(count)  \(bar)"
        }
    }
}
