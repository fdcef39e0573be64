import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// `supervisor dead-letters`: lists, shows, redelivers and discards the dead letters of a running supervisor.
struct DeadLettersCommand {
    let options: DeadLettersOptions
    /// How long to wait for the answer about a letter; handlers of the host may have to return first.
    var limit = Duration.seconds(30)

    /// Carries out the action, and prints each letter's outcome as soon as it is known.
    ///
    /// If the action fails for one letter, or is not answered in time, it is still carried out for the others.
    ///
    /// - Parameter printing: prints lines, and returns the status of doing so.
    /// - Returns: The status of the first failure, of an action or of printing a line; success if nothing has failed.
    func run(printing: (String) -> ProgramStatus) async throws(RunFailure) -> ProgramStatus {
        try await HostConnection.ask(options.control, as: .deadLetters) { try await answer($0, printing) }
    }

    private func answer(_ client: BridgeClient, _ printing: (String) -> ProgramStatus) async throws -> ProgramStatus {
        switch options.action {
        case .list(let event, let worker):
            let text = list(try await client.deadLetters(ofEvent: event, forWorker: worker))
            return text.map(printing) ?? .success
        case .show(let letters):
            return try await each(letters, printing) { number in
                guard let letter = try await client.deadLetter(number, within: limit) else {
                    return outcome(DeadLetterOutcome(letter: number, kind: .unknown))
                }
                let text = options.isJSON ? DeadLettersText.json(letter) : DeadLettersText.shown(letter)
                let isLast = options.isJSON || number == letters.last
                return (isLast ? text : "\(text)\n", .success)
            }
        case .redeliver(let letters):
            return try await each(letters, printing) {
                outcome(try await client.redeliverDeadLetter($0, within: limit))
            }
        case .discard(let letters):
            return try await each(letters, printing) {
                outcome(try await client.discardDeadLetter($0, within: limit))
            }
        }
    }

    private func list(_ letters: [DeadLetterReport]) -> String? {
        if options.isJSON {
            return letters.isEmpty ? nil : letters.map(DeadLettersText.json).joined(separator: "\n")
        }
        let output = SystemFile.standardOutput
        let isColoured = TextFormatter.isColourWanted(
            isTerminal: output.isTerminal,
            environment: CurrentProcess.environment
        )
        return DeadLettersText.list(letters, isColoured: isColoured, width: output.terminalSize?.columns)
    }

    /// Carries out `command` for one letter after the other; an error other than a missing answer ends the loop.
    func each(
        _ letters: [UInt64],
        _ printing: (String) -> ProgramStatus,
        _ command: (UInt64) async throws -> (text: String, status: ProgramStatus)
    ) async throws -> ProgramStatus {
        var first = ProgramStatus.success
        for letter in letters {
            let (text, status): (String, ProgramStatus)
            do {
                (text, status) = try await command(letter)
            } catch let error as BridgeClientError where error.code == .timedOut {
                (text, status) = (unanswered(letter), .unhandledEvents)
            }
            for status in [status, printing(text)] where first == .success { first = status }
        }
        return first
    }

    private func unanswered(_ letter: UInt64) -> String {
        if options.isJSON { return DeadLettersText.jsonOfUnanswered(letter) }
        let consequence: String? =
            switch options.action {
            case .redeliver: "redelivered"
            case .discard: "discarded"
            case .show, .list: nil
            }
        return DeadLettersText.unanswered(letter, within: limit, mayStillBe: consequence)
    }

    private func outcome(_ outcome: DeadLetterOutcome) -> (text: String, status: ProgramStatus) {
        let text = options.isJSON ? ReportJSON.text(outcome) : DeadLettersText.outcome(outcome)
        let status: ProgramStatus =
            switch outcome.kind {
            case .accepted, .handled, .discarded: .success
            case .refused: .unhandledEvents
            case .unknown: .usage
            }
        return (text, status)
    }
}
