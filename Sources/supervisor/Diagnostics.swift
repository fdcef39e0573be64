import BridgePlatform

/// Says in sentences, on standard error, what happens beside the events.
struct Diagnostics: Sendable {
    let output: LineOutput
    /// Whether the journal reads, which is told how grave each line is.
    var isForJournal = false

    static func onStandardError() throws -> Diagnostics {
        Diagnostics(
            output: try LineOutput(.standardError, name: "diagnostics", turns: .standardError),
            isForJournal: JournalStream.isAttached(
                CurrentProcess.environment("JOURNAL_STREAM"),
                to: SystemFile.standardError.identity
            )
        )
    }

    /// About the run as a whole.
    func say(_ sentence: String, _ level: JournalStream.Level = .notice) {
        write("supervisor: \(TerminalText.harmless(sentence))", level, whenFull: .take)
    }

    /// About a place in a file, which is in front of the sentence.
    func sayAt(_ sentence: String) {
        write(TerminalText.harmless(sentence), .warning, whenFull: .wait)
    }

    /// About an event; there may be as many of these as there are events, and the calling thread may wait.
    func sayOfEvent(_ sentence: String) {
        write("supervisor: \(TerminalText.harmless(sentence))", .warning, whenFull: .wait)
    }

    /// A line that a worker has printed.
    ///
    /// It is read on a thread that looks after everything else as well, which must not wait.
    func pass(_ line: String, of worker: String) {
        write("[\(worker)] \(TerminalText.harmless(line))", .information, whenFull: .leaveOut)
    }

    private func write(_ line: String, _ level: JournalStream.Level, whenFull: LineOutput.WhenFull) {
        output.write(isForJournal ? "<\(level.rawValue)>\(line)" : line, whenFull: whenFull)
    }
}
