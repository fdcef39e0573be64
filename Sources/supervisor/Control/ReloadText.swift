import BridgeControl

/// The printed form of a reload's outcome.
enum ReloadText {
    /// The changes, as one line.
    static func taken(_ outcome: ReloadOutcome) -> String {
        let parts = [
            ("started", outcome.started), ("stopped", outcome.stopped), ("replaced", outcome.replaced),
            ("left alone", outcome.unchanged),
        ]
        let said = parts.filter { !$0.1.isEmpty }.map { what, names in
            "\(what) \(names.map { "\"\($0)\"" }.joined(separator: ", "))"
        }
        let hasChanged =
            !(outcome.started + outcome.stopped + outcome.replaced).isEmpty || !outcome.sentences.isEmpty
        let text = said.isEmpty ? "no change has succeeded" : said.joined(separator: "; ")
        return "the configuration was read again: \(hasChanged ? text : "nothing has changed")"
    }

    /// The failures, a line each; nil if there are none.
    ///
    /// For a configuration with mistakes, the first lines have the form of those of `supervisor check`.
    static func failure(_ outcome: ReloadOutcome) -> String? {
        let sentences = outcome.sentences
        switch outcome.kind {
        case .taken: return sentences.isEmpty ? nil : ofSupervisor(sentences)
        case .mistaken, .unreadable: return (sentences + [ofSupervisor([notTaken])]).joined(separator: "\n")
        // Without `notTaken`: the workers need not go on, and what became of the configuration may be unknown.
        case .refused: return ofSupervisor(sentences.isEmpty ? ["the configuration was not taken"] : sentences)
        }
    }

    private static func ofSupervisor(_ sentences: [String]) -> String {
        sentences.map { "supervisor: \($0)" }.joined(separator: "\n")
    }

    /// The exit status of the program.
    static func status(_ outcome: ReloadOutcome) -> ProgramStatus {
        switch outcome.kind {
        case .taken: outcome.sentences.isEmpty ? .success : .workerUnavailable
        case .mistaken: .configuration
        case .unreadable: .noInput
        case .refused: .unhandledEvents
        }
    }

    /// What the supervisor says of a configuration that has changed nothing.
    static let notTaken = "the configuration was not taken; the workers go on with the one before"
}
