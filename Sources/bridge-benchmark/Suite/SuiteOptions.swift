import JSONText

/// The options of a run of many works.
struct SuiteOptions: Equatable {
    /// Where the measurements are written.
    enum Output: Equatable {
        /// The measurements are not written; only the table is printed.
        case none
        /// The measurements are written to standard output, instead of the table.
        case standardOutput
        case file(String)
    }

    var rounds = 3
    /// The names of the works to run, or the beginnings of names before a hyphen; empty for all works.
    var only: [String] = []
    var isQuick = false
    var json = Output.none
    /// The path of an earlier run's file.
    var comparison: String?

    private static let known = ["--rounds", "--only", "--quick", "--json", "--compare"]

    init() {}

    init(_ arguments: ArraySlice<String>) throws(BenchmarkUsageError) {
        var rest = arguments
        while let option = rest.popFirst() {
            switch option {
            case "--rounds":
                let text = try Self.value(of: option, &rest, expected: "a number")
                guard let number = Int(text), (1...1_000).contains(number) else {
                    throw BenchmarkUsageError("found \(ShownValue.text(text)) rounds, expected 1 to 1000")
                }
                rounds = number
            case "--only":
                only += try Self.value(of: option, &rest, expected: "names of works").split(separator: ",").map(
                    String.init
                )
            case "--quick": isQuick = true
            case "--json":
                if let next = rest.first, !next.hasPrefix("--") {
                    json = .file(next)
                    rest.removeFirst()
                } else {
                    json = .standardOutput
                }
            case "--compare": comparison = try Self.value(of: option, &rest, expected: "a file")
            default:
                let question = NearestName.question(for: option, among: Self.known)
                let hint = question.isEmpty ? "; known here are \(Self.known.joined(separator: ", "))" : question
                throw BenchmarkUsageError("found the unknown option \(ShownValue.text(option))\(hint)")
            }
        }
        if let name = only.first(where: { name in !BenchmarkWork.all.contains { $0.isNamed(name) } }) {
            let question = NearestName.question(for: name, among: BenchmarkWork.all.map(\.name))
            throw BenchmarkUsageError("found \(ShownValue.text(name)) after --only, expected names of works\(question)")
        }
    }

    /// The requested works.
    var works: [BenchmarkWork] {
        only.isEmpty ? BenchmarkWork.all : BenchmarkWork.all.filter { only.contains(where: $0.isNamed) }
    }

    private static func value(
        of option: String,
        _ rest: inout ArraySlice<String>,
        expected: String
    ) throws(BenchmarkUsageError) -> String {
        guard let text = rest.popFirst(), !text.isEmpty, !text.hasPrefix("--") else {
            throw BenchmarkUsageError("found nothing after \(option), expected \(expected)")
        }
        return text
    }
}
