import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// The names of the workers or events of a running supervisor, one a line, for the completion scripts.
///
/// The scripts call it while a person types. So it is silent where no supervisor answers, and never takes long.
struct CompletionNames: Sendable, Hashable {
    enum Kind: String, Sendable, Hashable {
        case workers
        case events
    }

    /// The word that stands in place of a subcommand; no help mentions it.
    static let word = "__complete"

    /// A person who has pressed a key waits no longer.
    private static let timeout: UInt64 = 2_000_000_000

    let kind: Kind
    let control: String?

    /// Nil for other arguments.
    ///
    /// - Parameter arguments: the kind, then the control socket's path, if it was given.
    init?(_ arguments: ArraySlice<String>) {
        guard let kind = arguments.first.flatMap(Kind.init), arguments.count <= 2 else { return nil }
        self.kind = kind
        control = arguments.dropFirst().first
    }

    /// The lines; nil if there are none.
    func run() async -> String? {
        guard let poller = try? Poller(name: "completion") else { return nil }
        defer { poller.stop() }
        // Anything still under way then, such as connecting to a supervisor that hangs, ends with the process.
        poller.schedule(after: Self.timeout) { CurrentProcess.exitImmediately(ProgramStatus.success.rawValue) }
        guard
            let client = try? await BridgeClient.connect(
                to: ControlPath.find(control),
                publisher: EventPublisher(),
                name: "supervisor completion"
            )
        else { return nil }
        let names = (try? await found(by: client)) ?? []
        await client.close(drainingWithin: .zero)
        let lines = names.filter(Self.isPlain)
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    private func found(by client: BridgeClient) async throws -> [String] {
        switch kind {
        case .workers: try await client.status().workerNames
        case .events: try await client.eventNames().map(\.name)
        }
    }

    /// Whether a shell reads the name as one word without a special meaning.
    ///
    /// Workers and clients may make up names of events. A line into which a shell has put `$(halt)` would run it.
    static func isPlain(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.unicodeScalars.allSatisfy { scalar in
                scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
                    || "._-".unicodeScalars.contains(scalar)
            }
    }
}
