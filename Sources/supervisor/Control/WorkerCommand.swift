import BridgeClient
import BridgeControl
import DomainEvents
import JSONText

/// `supervisor stop WORKER` and `supervisor restart WORKER`: returns when it is done.
struct WorkerCommand {
    let worker: String
    let control: String?
    let name: Subcommand.Name

    func run() async throws(RunFailure) -> String? {
        let client = try await HostConnection.attach(
            to: ControlPath.find(control),
            as: name,
            publisher: EventPublisher()
        )
        let failure = await attempt(client)
        await client.close()
        if let failure { throw failure }
        return nil
    }

    private func attempt(_ client: BridgeClient) async -> RunFailure? {
        do {
            let known = try await client.status().workerNames
            guard known.contains(worker) else { return unknown(among: known) }
            switch name {
            case .stop: try await client.stop(worker)
            default: try await client.restart(worker)
            }
            return nil
        } catch {
            return RunFailure(error)
        }
    }

    private func unknown(among known: [String]) -> RunFailure {
        let question = NearestName.question(for: worker, among: known)
        let list = known.map { ShownValue.text($0) }.joined(separator: ", ")
        let hint = question.isEmpty ? known.isEmpty ? "; there are none" : "; there are \(list)" : question
        return RunFailure(
            status: .usage,
            description: TerminalText.harmlessLines("supervisor: there is no worker \(ShownValue.text(worker))\(hint)")
        )
    }
}
