import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// The options of `supervisor reload`.
struct ReloadOptions: Sendable, Hashable {
    /// The usual time limit; it is long, because each worker that is stopped or started may take a while.
    static let usualTime = "10m"

    /// The control socket's path on the command line; nil if it was not given.
    var control: String?
    var limit: Duration

    init(control: String? = nil, within limit: Duration) {
        (self.control, self.limit) = (control, limit)
    }

    init(_ given: SubcommandArguments) throws(UsageError) {
        control = given.values["--control"]
        limit = try given.timeLimit(usually: Self.usualTime)
    }
}

/// `supervisor reload`: returns when the workers of a running supervisor follow the present configuration file.
struct ReloadCommand {
    let options: ReloadOptions

    func run(printing: (String) -> ProgramStatus) async throws(RunFailure) -> ProgramStatus {
        let outcome = try await HostConnection.ask(options.control, as: .reload) { client in
            do {
                return try await client.reload(within: options.limit)
            } catch {
                throw Self.failure(error)
            }
        }
        let printed =
            outcome.kind == .taken ? printing(TerminalText.harmless(ReloadText.taken(outcome))) : .success
        guard let failure = ReloadText.failure(outcome) else { return printed }
        throw RunFailure(status: ReloadText.status(outcome), description: TerminalText.harmlessLines(failure))
    }

    /// The failure with this error; after a timeout it says that the supervisor may still carry out the command.
    private static func failure(_ error: any Error) -> RunFailure {
        let failure = RunFailure(error)
        guard (error as? BridgeClientError)?.code == .timedOut else { return failure }
        return RunFailure(
            status: .unhandledEvents,
            description: "\(failure.description); the configuration may still be taken"
        )
    }
}
