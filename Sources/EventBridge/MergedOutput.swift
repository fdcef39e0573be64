/// The lines of several workers whose numbers are above a given one, in the order of their numbers.
///
/// The logs are read one after the other, and workers may print meanwhile. Then a line may go to a log that was already
/// read, and the next line to a log that was not. A client that got only the second line would ask for the lines after
/// it, and never see the first. So lines whose numbers were given out after the reading began are left out; the
/// client's next question finds them.
struct MergedOutput {
    /// The lines, each with its log's place among the logs.
    let lines: [(log: Int, line: OutputLog.Line)]
    /// Whether a log has forgotten a line with a number above the given one.
    let hasForgotten: Bool

    /// - Parameters:
    ///   - logs: read in this order; all of them take their numbers from `numbers`.
    ///   - count: how many lines of each log are taken at most.
    init(of logs: some Sequence<OutputLog>, _ numbers: OutputNumbers, after number: UInt64, atMost count: Int) {
        // The line with this number may not be in its log yet. Then it is left out as well, and nothing follows it.
        let newest = numbers.last
        var lines: [(log: Int, line: OutputLog.Line)] = []
        var hasForgotten = false
        for (place, log) in logs.enumerated() {
            let found = log.lines(after: number, atMost: count)
            lines += found.lines.prefix { $0.number <= newest }.map { (place, $0) }
            hasForgotten = hasForgotten || found.hasForgotten
        }
        lines.sort { $0.line.number < $1.line.number }
        (self.lines, self.hasForgotten) = (lines, hasForgotten)
    }
}
