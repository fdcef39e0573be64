import BridgePlatform

/// Reports in sentences, on standard error, what happens beside the events.
struct Diagnostics: Sendable {
    let output: LineOutput
    /// Whether the journal reads standard error; each line then begins with its level.
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

    /// Prints a sentence about the run as a whole.
    func say(_ sentence: String, _ level: JournalStream.Level = .notice) {
        write("supervisor: \(TerminalText.harmless(sentence))", level, whenFull: .take)
    }

    /// Prints a sentence about a place in a file; the sentence begins with the place.
    func sayAt(_ sentence: String) {
        write(TerminalText.harmless(sentence), .warning, whenFull: .wait)
    }

    /// Prints a sentence about an event; these may be as many as the events, so the calling thread may wait.
    func sayOfEvent(_ sentence: String) {
        write("supervisor: \(TerminalText.harmless(sentence))", .warning, whenFull: .wait)
    }

    /// Passes on a line that a worker has printed.
    ///
    /// The calling thread also does everything else, so it must not wait.
    func pass(_ line: String, of worker: String) {
        write("[\(worker)] \(TerminalText.harmless(line))", .information, whenFull: .leaveOut)
    }

    private func write(_ line: String, _ level: JournalStream.Level, whenFull: LineOutput.WhenFull) {
        output.write(isForJournal ? "<\(level.rawValue)>\(line)" : line, whenFull: whenFull)
    }
}
