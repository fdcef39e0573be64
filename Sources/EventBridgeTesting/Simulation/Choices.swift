/// Every choice of a run: which thread goes on, which fault comes when, how long it lasts.
///
/// Each choice belongs to a matter, such as `preemption` or `worker canvas`. Each matter has its own numbers, so one
/// choice less in it leaves other matters as they are. A choice is a place in its matter and a value. The value 0
/// always means the tame choice: go on, no fault, no delay. A list leaves out choices of value 0.
struct Choices: Sendable {
    struct Place: Hashable, Comparable, Sendable {
        let matter: String
        let index: UInt64

        static func < (left: Place, right: Place) -> Bool { (left.matter, left.index) < (right.matter, right.index) }
    }

    typealias List = [Place: UInt64]

    let seed: UInt64
    /// The choices to make instead of the seed's; nil if the seed decides.
    private let list: List?
    /// The places of the list, ascending in each matter.
    private let places: [String: [UInt64]]
    private var numbers: [String: SeededNumbers] = [:]
    /// Every choice so far whose value is not 0.
    private(set) var made: List = [:]

    /// Chooses by the seed; with a list, chooses the values of the list, and 0 at places that the list leaves out.
    init(seed: UInt64, list: List? = nil) {
        self.seed = seed
        self.list = list
        places = Dictionary(grouping: (list ?? [:]).keys, by: \.matter).mapValues { $0.map(\.index).sorted() }
    }

    /// The number of listed choices that this run did not reach or could not make.
    var unmet: Int { (list ?? [:]).keys.count { made[$0] == nil } }

    /// Chooses a value below `bound`; `draw` makes the value from the seed's numbers.
    mutating func choose(
        _ matter: String,
        _ index: UInt64,
        below bound: UInt64,
        draw: (inout SeededNumbers) -> UInt64
    ) -> UInt64 {
        guard bound > 1 else { return 0 }
        let place = Place(matter: matter, index: index)
        let value: UInt64
        if let list {
            value = (list[place] ?? 0) % bound
        } else {
            value = draw(&numbers[matter, default: SeededNumbers(seed: seed, name: matter)]) % bound
        }
        if value != 0 { made[place] = value }
        return value
    }

    /// Chooses the next place with a choice other than 0, in a matter where most choices are 0; nil for no such place.
    ///
    /// - Parameters:
    ///   - index: the place after which the search begins.
    ///   - average: on average, one in this many places has a choice other than 0; 0 if all choices are 0.
    mutating func nextPlace(_ matter: String, behind index: UInt64, average: UInt64) -> UInt64? {
        guard average > 0 else { return nil }
        if list != nil { return places[matter]?.first { $0 > index } }
        return index + numbers[matter, default: SeededNumbers(seed: seed, name: matter)].next(below: 2 * average) + 1
    }
}

extension Choices {
    /// Reads a seed and a list from a line such as `17 preemption@212=1 worker_canvas@258=33`; nil for another form.
    init?(text: String) {
        let words = text.split(separator: " ")
        guard let first = words.first, let seed = UInt64(first) else { return nil }
        var list: List = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=")
            guard parts.count == 2, let value = UInt64(parts[1]), let at = parts[0].lastIndex(of: "@"),
                let index = UInt64(parts[0][parts[0].index(after: at)...])
            else { return nil }
            list[Place(matter: Self.unescaped(parts[0][..<at]), index: index)] = value
        }
        self.init(seed: seed, list: words.count > 1 ? list : nil)
    }

    static func text(seed: UInt64, _ list: List) -> String {
        let words = list.sorted { $0.key < $1.key }.map { "\(escaped($0.key.matter))@\($0.key.index)=\($0.value)" }
        return (["\(seed)"] + words).joined(separator: " ")
    }

    private static func escaped(_ matter: String) -> String { String(matter.map { $0 == " " ? "_" : $0 }) }

    private static func unescaped(_ text: Substring) -> String {
        // Only workers' matters have a space, and workers' names have none.
        let prefix = "worker_"
        return text.hasPrefix(prefix) ? "worker " + text.dropFirst(prefix.count) : String(text)
    }
}
