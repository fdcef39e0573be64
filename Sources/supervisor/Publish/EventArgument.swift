import BridgePlatform
import DomainEvents
import JSONText
import SupervisorConfiguration

/// The event on a command line: its name, and its fields as JSON or on standard input.
struct EventArgument {
    let name: String
    /// The fields, or `-` for standard input.
    let json: String
    /// The subcommand to which the event was given.
    let command: Subcommand.Name

    /// Reads the event; throws if it cannot be published.
    func read() async throws(RunFailure) -> InputEvent {
        try checkName()
        let isPiped = json == "-"
        let text = isPiped ? try await StandardInput.read(upTo: LineReader.greatestLength) : Array(json.utf8)
        do {
            return try InputEvent(name: name, data: text)
        } catch {
            let place = error.description(file: isPiped ? "standard input" : "JSON", line: error.line)
            throw RunFailure(status: .badInput, description: "supervisor: \(TerminalText.harmless(place))")
        }
    }

    private func checkName() throws(RunFailure) {
        guard (1...EventName.maximumBytes).contains(name.utf8.count), name != EventName.everything.text else {
            throw usage(
                """
                found the name \(ShownValue.text(name)) (\(name.utf8.count) bytes), expected an event's name of 1 to \
                \(EventName.maximumBytes) bytes other than "*"
                """
            )
        }
        guard !WorkerReporter.reports.contains(EventName(name)) else {
            throw usage("\(name) is a report of the bridge itself, which nothing else publishes")
        }
    }

    private func usage(_ sentence: String) -> RunFailure {
        RunFailure(status: .usage, description: "supervisor: \(sentence)\nusage: \(HelpText.usage(command))")
    }
}
