import BridgeClient
import BridgePlatform
import DomainEvents
import EventRouting
import JSONText
import SupervisorConfiguration

/// What `supervisor publish` was told.
struct PublishOptions: Sendable, Hashable {
    /// The control socket's path, if it was given.
    var control: String?
    var name: String
    /// The event's fields, or `-` for standard input.
    var json: String
    /// How long it waits, as it was written; nil for the usual time.
    var within: String?
}

/// `supervisor publish`: publishes one event and waits for what becomes of it.
struct PublishCommand {
    static let usualTime = "30s"

    let options: PublishOptions

    /// - Returns: Nothing: what became of the event is told before the client leaves.
    func run() async throws(RunFailure) -> String? {
        let limit = try timeLimit()
        try checkName()
        let event = try await readEvent()
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .publish,
            publisher: EventPublisher(origin: "publish")
        )
        do {
            let receipt = try await client.deliver(name: event.name, payload: event.payload, within: limit)
            // Others know the event by the name that the host has given this client.
            let id = client.idElsewhere(of: receipt.id) ?? receipt.id
            let workers = receipt.handlers.keys.sorted().joined(separator: ", ")
            // It was handled, whoever reads this.
            _ = SystemFile.standardOutput.write(
                Array("\(TerminalText.harmless("\(event.name) \(id) was handled by \(workers)"))\n".utf8)
            )
            await client.close()
            return nil
        } catch {
            let failure = PublishFailure(error, of: event.name, among: client.namesWantedByHost)
            await client.close(drainingWithin: .zero)
            throw failure.asRunFailure
        }
    }

    // MARK: - What is published

    private func timeLimit() throws(RunFailure) -> Duration {
        let text = options.within ?? Self.usualTime
        switch DurationText.parse(text) {
        case .duration(let duration): return duration
        case .expected(let expected):
            throw usage("found \(ShownValue.text(text)) after --within, expected \(expected)")
        }
    }

    private func checkName() throws(RunFailure) {
        let name = options.name
        guard (1...EventName.maximumBytes).contains(name.utf8.count), name != EventName.everything.text else {
            throw usage(
                """
                found the name \(ShownValue.text(name)) (\(name.utf8.count) bytes), expected an event's name of 1 to \
                \(EventName.maximumBytes) bytes other than "*"
                """
            )
        }
        guard !WorkerReporter.reports.contains(EventName(name)) else {
            throw usage("\(name) is a report of the bridge itself, which nobody else publishes")
        }
    }

    private func usage(_ sentence: String) -> RunFailure {
        RunFailure(status: .usage, description: "supervisor: \(sentence)\nusage: \(HelpText.usage(.publish))")
    }

    private func readEvent() async throws(RunFailure) -> InputEvent {
        let isPiped = options.json == "-"
        let text = isPiped ? try await StandardInput.read(upTo: LineReader.greatestLength) : Array(options.json.utf8)
        do {
            return try InputEvent(name: options.name, data: text)
        } catch {
            let place = error.description(file: isPiped ? "standard input" : "JSON", line: error.line)
            throw RunFailure(status: .badInput, description: "supervisor: \(TerminalText.harmless(place))")
        }
    }
}
