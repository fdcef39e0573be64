/// Every choice of a run: which thread runs next, which fault comes when, and how long the fault lasts.
///
/// Each choice belongs to a matter, such as `preemption` or `worker canvas`. Each matter has its own random numbers, so
/// leaving out a choice of one matter does not change the choices of another. A choice has an index in its matter, and
/// a value. If there is a tame choice, its value is 0: the thread goes on, no fault, no delay. A list leaves zeros out.
struct Choices: Sendable {
    struct Place: Hashable, Comparable, Sendable {
        let matter: String
        let index: UInt64

        static func < (left: Place, right: Place) -> Bool { (left.matter, left.index) < (right.matter, right.index) }
    }

    typealias List = [Place: UInt64]

    let seed: UInt64
    /// The choices to make instead of the seed's; nil if the seed decides.
    let list: List?
    /// For each matter, the indices in the list, in ascending order.
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

    /// The number of listed choices that this run did not come to, or that it could not make.
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

    /// Chooses the next index with a choice other than 0, in a matter where most choices are 0; nil if there is none.
    ///
    /// - Parameters:
    ///   - index: the index after which the search begins.
    ///   - average: on average, one in this many choices is other than 0; 0 if all choices are 0.
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
                let index = UInt64(parts[0][parts[0].index(after: at)...]), let matter = Self.unescaped(parts[0][..<at])
            else { return nil }
            list[Place(matter: matter, index: index)] = value
        }
        self.init(seed: seed, list: words.count > 1 ? list : nil)
    }

    static func text(seed: UInt64, _ list: List) -> String {
        let words = list.sorted { $0.key < $1.key }.map { "\(escaped($0.key.matter))@\($0.key.index)=\($0.value)" }
        return (["\(seed)"] + words).joined(separator: " ")
    }

    /// A matter as one word: letters, digits, `:`, `.` and `-` stay; `_` stands for a space; `%` and two hexadecimal
    /// digits stand for any other byte.
    private static func escaped(_ matter: String) -> String {
        var word = ""
        for byte in matter.utf8 {
            switch byte {
            case UInt8(ascii: " "):
                word += "_"
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"):
                word.append(Character(Unicode.Scalar(byte)))
            default:
                let digits = String(byte, radix: 16)
                word += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return word
    }

    private static func unescaped(_ word: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = word.utf8
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "_"):
                bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard let escaped = UInt8(digits, radix: 16) else { return nil }
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
