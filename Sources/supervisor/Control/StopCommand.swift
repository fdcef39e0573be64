import BridgeClient
import DomainEvents

/// `supervisor stop`: returns when the supervisor has ended.
struct StopCommand {
    let control: String?

    func run() async throws(RunFailure) -> String? {
        let client = try await HostConnection.attach(
            to: ControlPath.find(control),
            as: .stop,
            publisher: EventPublisher()
        )
        var failure: RunFailure?
        do {
            // A limit that is never reached: the supervisor ends by itself, and its workers' graces decide when.
            try await client.stopHost(within: .seconds(366 * 24 * 3600))
        } catch {
            failure = RunFailure(error)
        }
        await client.close()
        if let failure { throw failure }
        return nil
    }
}
