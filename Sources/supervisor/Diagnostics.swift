import BridgePlatform

/// Reports on standard error, in sentences, what happens besides the events.
struct Diagnostics: Sendable {
    let output: LineOutput
    /// Whether systemd's journal reads standard error; each line then begins with its level.
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

    /// Prints a sentence about the run as a whole, even if the queue is full: such sentences are few.
    func say(_ sentence: String, _ level: JournalStream.Level = .notice) {
        write("supervisor: \(TerminalText.harmless(sentence))", level, whenFull: .take)
    }

    /// Prints a sentence about what clients do, or what workers print; without room it is left out and counted.
    ///
    /// There may be any number of such sentences. The calling thread also hands out the reports about workers, so it
    /// must not wait: reports that came while it waited might be dropped for lack of room.
    func sayIfRoom(_ sentence: String, _ level: JournalStream.Level = .notice) {
        write("supervisor: \(TerminalText.harmless(sentence))", level, whenFull: .leaveOut)
    }

    /// Prints a sentence about a place in a file; the sentence begins with the place.
    func sayAt(_ sentence: String) {
        write(TerminalText.harmless(sentence), .warning, whenFull: .wait)
    }

    /// Prints a sentence about an event; there may be one for each event, so the calling thread waits for room.
    func sayOfEvent(_ sentence: String) {
        write("supervisor: \(TerminalText.harmless(sentence))", .warning, whenFull: .wait)
    }

    /// Passes on a line that a worker has printed.
    ///
    /// The calling thread also does other work, so it does not wait: without room the line is left out.
    func pass(_ line: String, of worker: String) {
        write("[\(worker)] \(TerminalText.harmless(line))", .information, whenFull: .leaveOut)
    }

    private func write(_ line: String, _ level: JournalStream.Level, whenFull: LineOutput.WhenFull) {
        output.write(isForJournal ? "<\(level.rawValue)>\(line)" : line, whenFull: whenFull)
    }
}
