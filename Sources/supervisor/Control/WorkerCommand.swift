import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents
import JSONText
import Supervision

/// A subcommand about one worker: returns when the action is done.
struct WorkerCommand {
    /// The action on the worker.
    enum Action: Sendable, Hashable {
        case start
        case stop
        case restart
        case signal(SignalNumber)
    }

    let action: Action
    let worker: String
    let control: String?

    private var name: Subcommand.Name {
        switch action {
        case .start: .start
        case .stop: .stop
        case .restart: .restart
        case .signal: .signal
        }
    }

    /// - Returns: The supervisor's sentence about the action; nil if it sent none.
    func run() async throws(RunFailure) -> String? {
        try await HostConnection.ask(control, as: name, ask).map(TerminalText.harmless)
    }

    private func ask(_ client: BridgeClient) async throws -> String? {
        let known = try await client.status().workerNames
        guard known.contains(worker) else { throw RunFailure(unknownWorker: worker, among: known) }
        switch action {
        case .start: return try await client.start(worker)
        case .signal(let signal): return try await client.signal(worker, signal.rawValue)
        case .stop: try await client.stop(worker)
        case .restart: try await client.restart(worker)
        }
        return nil
    }
}

extension RunFailure {
    /// A failure for a name that no worker, pool or pool member has.
    init(unknownWorker worker: String, among known: [String]) {
        let question = NearestName.question(for: worker, among: known)
        let list = known.map { ShownValue.text($0) }.joined(separator: ", ")
        let hint = question.isEmpty ? known.isEmpty ? "; there are none" : "; there are \(list)" : question
        self.init(
            status: .usage,
            description: TerminalText.harmlessLines("supervisor: there is no worker \(ShownValue.text(worker))\(hint)")
        )
    }
}
