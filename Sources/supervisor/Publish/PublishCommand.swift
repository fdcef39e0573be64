import BridgeClient
import BridgePlatform
import DomainEvents
import SupervisorConfiguration

/// The options of `supervisor publish`.
struct PublishOptions: Sendable, Hashable {
    static let usualTime = "30s"

    /// The control socket's path on the command line; nil if it was not given.
    var control: String?
    var name: String
    /// The event's fields, or `-` for standard input.
    var json: String
    var limit: Duration
}

/// `supervisor publish`: publishes one event and waits for its outcome.
struct PublishCommand {
    let options: PublishOptions

    /// - Returns: Always nil: this method itself prints the outcome, before the client leaves.
    func run() async throws(RunFailure) -> String? {
        let event = try await EventArgument(name: options.name, json: options.json, command: .publish).read()
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .publish,
            publisher: EventPublisher(origin: "publish")
        )
        do {
            let receipt = try await client.deliver(name: event.name, payload: event.payload, within: options.limit)
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
}
