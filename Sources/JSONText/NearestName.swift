/// Finds the name that the user probably meant.
package enum NearestName {
    /// Longer words are not compared: the work grows with the product of the lengths, and no user means a name that
    /// long.
    private static let longestWord = 64

    /// `; did you mean "permanent"?`, or an empty text if no name is near.
    package static func question(for word: String, among names: [String]) -> String {
        suggestion(for: word, among: names).map { "; did you mean \(JSONEscaping.quoted($0))?" } ?? ""
    }

    /// The nearest name; nil if no name is near.
    ///
    /// One letter, or a third of the longer word's letters, may be wrong, swapped, missing or extra. Case is ignored.
    package static func suggestion(for word: String, among names: [String]) -> String? {
        guard word.utf8.count <= longestWord else { return nil }
        let written = Array(word.lowercased().unicodeScalars)
        var nearest: (name: String, distance: Int)?
        for name in names where name.utf8.count <= longestWord {
            let wanted = Array(name.lowercased().unicodeScalars)
            let distance = distance(written, wanted)
            guard distance <= max(1, max(written.count, wanted.count) / 3), distance < wanted.count else { continue }
            if distance < nearest?.distance ?? .max {
                nearest = (name, distance)
            }
        }
        return nearest?.name
    }

    /// How many changes, insertions, removals and swaps of neighbours turn one word into the other.
    static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                let change = last[j] + (first[i] == second[j] ? 0 : 1)
                var best = min(change, last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    best = min(best, beforeLast[j - 1] + 1)
                }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[second.count]
    }
}
