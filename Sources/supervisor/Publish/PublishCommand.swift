import BridgeClient
import BridgePlatform
import DomainEvents
import JSONText
import SupervisorConfiguration

/// The options of `supervisor publish`.
struct PublishOptions: Sendable, Hashable {
    /// The control socket's path on the command line; nil if it was not given.
    var control: String?
    var name: String
    /// The event's fields, or `-` for standard input.
    var json: String
    /// The time limit as written on the command line; nil for the usual one.
    var within: String?
}

/// `supervisor publish`: publishes one event and waits for its outcome.
struct PublishCommand {
    static let usualTime = "30s"

    let options: PublishOptions

    /// - Returns: Always nil: this method itself prints the outcome, before the client leaves.
    func run() async throws(RunFailure) -> String? {
        let limit = try timeLimit()
        let event = try await EventArgument(name: options.name, json: options.json, command: .publish).read()
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .publish,
            publisher: EventPublisher(origin: "publish")
        )
        do {
            let receipt = try await client.deliver(name: event.name, payload: event.payload, within: limit)
            // In other processes, the event's id has the name that the host gave to this client.
            let id = client.idElsewhere(of: receipt.id) ?? receipt.id
            let workers = receipt.handlers.keys.sorted().joined(separator: ", ")
            // The event was handled, so a line that cannot be written is no failure.
            _ = SystemFile.standardOutput.write(
                Array("\(TerminalText.harmless("\(event.name) \(id) was handled by \(workers)"))\n".utf8)
            )
            await client.close()
            return nil
        } catch {
            let failure = PublishFailure(
                error,
                of: event.name,
                among: client.namesWantedByHost,
                idElsewhere: client.idElsewhere
            )
            await client.close(drainingWithin: .zero)
            throw failure.asRunFailure
        }
    }

    private func timeLimit() throws(RunFailure) -> Duration {
        let text = options.within ?? Self.usualTime
        switch DurationText.parse(text) {
        case .duration(.zero): throw usage("found \(ShownValue.text(text)) after --within, expected a time above 0")
        case .duration(let duration): return duration
        case .expected(let expected):
            throw usage("found \(ShownValue.text(text)) after --within, expected \(expected)")
        }
    }

    private func usage(_ sentence: String) -> RunFailure {
        RunFailure(status: .usage, description: "supervisor: \(sentence)\nusage: \(HelpText.usage(.publish))")
    }
}
