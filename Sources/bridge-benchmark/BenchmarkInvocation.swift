import JSONText

/// The request on the command line.
enum BenchmarkInvocation {
    case help
    /// One workload, a `BenchmarkWork`; its measurements are printed as JSON lines.
    case work(BenchmarkWork, count: Int64)
    /// All works or chosen ones, each in a process of its own; prints a table of medians. With `--json FILE`, each
    /// measurement is also written to the file; with `--json` alone, the measurements are printed instead of the table.
    case suite(SuiteOptions)
    case stopped(StoppedOptions)
    /// The worker's half of a work. Users do not type this request: this program starts its own workers with it.
    case worker(ArraySlice<String>)
    case rawPeer(ArraySlice<String>)
    case emptyProgram
    /// A work that was requested with `--layout` but has no form for events with a layout.
    case unsupported(String)

    init(_ arguments: ArraySlice<String>) throws(BenchmarkUsageError) {
        guard let first = arguments.first else {
            self = .suite(SuiteOptions())
            return
        }
        let rest = arguments.dropFirst()
        switch first {
        case "help", "--help", "-h": self = .help
        case "all": self = .suite(try SuiteOptions(rest))
        case "stopped":
            guard let options = StoppedOptions(rest) else {
                throw BenchmarkUsageError(
                    "found \(ShownValue.text(rest.joined(separator: " "))) after stopped, expected --seconds, --outbox, --hard-limit or --bytes, each with 1 to 100000"
                )
            }
            self = .stopped(options)
        case "worker": self = .worker(rest)
        case RawWork.argument: self = .rawPeer(rest)
        case EmptyProgram.argument: self = .emptyProgram
        case _ where first.hasPrefix("-"): self = .suite(try SuiteOptions(arguments))
        default: self = try Self.work(first, rest)
        }
    }

    private static func work(
        _ name: String,
        _ rest: ArraySlice<String>
    ) throws(BenchmarkUsageError) -> BenchmarkInvocation {
        let names = BenchmarkWork.all.map(\.name)
        guard names.contains(name) else {
            let question = NearestName.question(for: name, among: names + ["all", "stopped", "help"])
            throw BenchmarkUsageError("found the unknown work \(ShownValue.text(name))\(question)")
        }
        let hasLayout = rest.contains("--layout")
        var numbers: [Int64] = []
        for word in rest where word != "--layout" {
            guard let number = Int64(word), number > 0, number <= 1_000_000_000_000 else {
                throw BenchmarkUsageError("found \(ShownValue.text(word)) after \(name), expected 1 to 10^12")
            }
            numbers.append(number)
        }
        var numbersLeft = numbers[...]
        let work: BenchmarkWork?
        if name.hasSuffix("W3") {
            guard let bytes = numbersLeft.popFirst(), (16...1 << 30).contains(bytes) else {
                throw BenchmarkUsageError("found no size of payloads after \(name), expected 16 to \(1 << 30) bytes")
            }
            work =
                name == "W3"
                ? .blob(Int(bytes)) { try await BlobWork.run(Int(bytes), count: $0) }
                : .blob(Int(bytes), name) { try RawWork.blobs(Int(bytes), count: $0) }
        } else {
            work = .named(name, options: hasLayout ? ["--layout"] : [])
        }
        if let further = numbersLeft.dropFirst().first {
            throw BenchmarkUsageError("found the further number \(further) after \(name), expected nothing more")
        }
        guard let work, !(hasLayout && name.hasSuffix("W3")) else {
            return .unsupported("found --layout with \(name), expected it with W1 or W2 only")
        }
        return .work(work, count: numbersLeft.first ?? work.count)
    }

    static let usage = """
        usage: bridge-benchmark [all] [--rounds N] [--only NAME,...] [--quick] [--json [FILE]] [--compare FILE]
               bridge-benchmark WORK [COUNT] [--layout]
               bridge-benchmark stopped [--seconds N] [--outbox MIB] [--hard-limit MIB] [--bytes N]

        The first form does all works in rounds, each in a process of its own, and prints a table of medians.
          --rounds N       how many rounds; 3 by default
          --only NAME,...  the works of these names, and those whose names go on with a hyphen
          --quick          a few events of each: shows that everything works, measures nothing
          --json [FILE]    writes the measurements as JSON lines to a file, or instead of the table
          --compare FILE   puts the medians of such a file beside the new ones
        The second does one work and prints its measurements as JSON lines. W3 and raw-W3 are followed by a size in bytes.
        With --layout events are written and read by their layout; exit status 77 if a work has no such form.

        """
        + BenchmarkWork.all.map { work in
            let words = ([work.name] + work.options).joined(separator: " ")
            return "  \(words.padded(to: 18)) \(work.summary)\n"
        }.joined() + """
              stopped            memory of the host, and another worker's round trips, while it publishes as fast as it can
                                 to a worker that has stopped; by default for 60 s in a run of 3 minutes, with 4 MiB,
                                 64 MiB and 1000 bytes each
            """
}

/// A command line that is not understood; the description says why.
struct BenchmarkUsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension String {
    /// The text with spaces after it, or before it, up to a width.
    func padded(to width: Int, atStart: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - count))
        return atStart ? space + self : self + space
    }
}
