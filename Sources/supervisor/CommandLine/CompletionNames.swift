import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// The names of the workers or events of a running supervisor, one a line, for the completion scripts.
///
/// The scripts ask for the names while a person types. So the command prints nothing if no supervisor answers, and
/// soon ends in any case.
struct CompletionNames: Sendable, Hashable {
    enum Kind: String, Sendable, Hashable {
        case workers
        case events
    }

    /// The word in place of a subcommand on the command line; no help mentions it.
    static let word = "__complete"

    /// How long the command may take, in nanoseconds: a person who has pressed a key waits no longer.
    private static let timeout: UInt64 = 2_000_000_000

    let kind: Kind
    let control: String?

    /// Reads the arguments; nil if they are not understood.
    ///
    /// - Parameter arguments: the kind, then the control socket's path, if it was given.
    init?(_ arguments: ArraySlice<String>) {
        guard let kind = arguments.first.flatMap(Kind.init), arguments.count <= 2 else { return nil }
        self.kind = kind
        control = arguments.dropFirst().first
    }

    /// Asks the supervisor and returns the lines; nil if there are none.
    func run() async -> String? {
        guard let poller = try? Poller(name: "completion") else { return nil }
        defer { poller.stop() }
        // The exit ends all that is under way, such as connecting to a supervisor that hangs.
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
    /// Workers and clients choose the names of events. A line that a shell completed with `$(halt)` would run `halt`.
    static func isPlain(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.unicodeScalars.allSatisfy { scalar in
                scalar.properties.isAlphabetic || scalar.properties.numericType == .decimal
                    || "._-".unicodeScalars.contains(scalar)
            }
    }
}
