/// Says in sentences, on standard error, what happens beside the events.
struct Diagnostics: Sendable {
    let output: LineOutput

    /// About the run as a whole.
    func say(_ sentence: String) {
        output.write("supervisor: \(TerminalText.harmless(sentence))", whenFull: .take)
    }

    /// About a place in a file, which is in front of the sentence.
    func sayAt(_ sentence: String) {
        output.write(TerminalText.harmless(sentence), whenFull: .wait)
    }

    /// About an event; there may be as many of these as there are events, and whoever comes with one may wait.
    func sayOfEvent(_ sentence: String) {
        output.write("supervisor: \(TerminalText.harmless(sentence))", whenFull: .wait)
    }

    /// A line that a worker has printed.
    ///
    /// It is read on a thread that looks after everything else as well, which must not wait.
    func pass(_ line: String, of worker: String) {
        output.write("[\(worker)] \(TerminalText.harmless(line))", whenFull: .leaveOut)
    }
}
