import BridgePlatform

/// A program that does nothing, which shows the cost of a start without the bridge.
///
/// The program is this benchmark itself, and so loads the same libraries; it ends before it uses them.
enum EmptyProgram {
    static let argument = "empty"

    /// The child's half: prints a byte to show that it runs, and a line with its memory.
    static func run() -> Never {
        CurrentProcess.writeAll(".", to: 1)
        CurrentProcess.writeAll("\(CurrentProcess.residentBytes() ?? 0)\n", to: 1)
        CurrentProcess.exitImmediately(0)
    }

    /// Starts the program `count` times.
    static func measure(count: Int) throws {
        var times: [UInt64] = []
        var sizes: [Int] = []
        for _ in 0..<count {
            let begin = MonotonicClock.now()
            let program = try OwnProgram([argument])
            guard try !program.output.read(upTo: 1).isEmpty else { Report.fail("the empty program said nothing") }
            times.append(MonotonicClock.now() - begin)
            guard let size = Int(try program.text().split(separator: "\n").first ?? "") else {
                Report.fail("the empty program did not say how much memory it has")
            }
            sizes.append(size)
            _ = program.waitForExit()
        }
        Report.starts("empty-program", times)
        Report.residents("empty-program", sizes)
    }
}
