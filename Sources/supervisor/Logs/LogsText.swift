import BridgeControl
import BridgePlatform

/// The shown form of the lines that a worker has printed.
struct LogsText: Sendable {
    /// Whether each line names the worker that has printed it.
    let namesWorkers: Bool
    let secondsAheadOfUTC: @Sendable (_ second: Int) -> Int

    /// The lines of an answer; nil if there are none.
    func lines(_ answer: WorkerOutputReported) -> String? {
        var lines = answer.lines.map(line)
        if answer.hasMissed { lines.insert("(lines are missing here: they came faster than they were read)", at: 0) }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    private func line(_ line: OutputLine) -> String {
        let time = ClockTime.text(line.nanosecondsSinceEpoch, secondsAheadOfUTC: secondsAheadOfUTC)
        let name = namesWorkers ? "[\(line.worker)] " : ""
        return "\(time)  \(TerminalText.harmless("\(name)\(line.text)"))\(line.isCut ? " …" : "")"
    }
}
