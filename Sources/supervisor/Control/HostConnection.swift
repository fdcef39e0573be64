import BridgeClient
import BridgeControl
import BridgePlatform
import BridgeProtocol
import DomainEvents
import EventRouting

/// How a subcommand attaches to a running supervisor, and what it says if it cannot.
enum HostConnection {
    /// Attaches; where so many want to at once that this one is turned away, it tries again for some seconds.
    ///
    /// - Parameters:
    ///   - path: the control socket's.
    ///   - name: of the subcommand, by which the supervisor's user finds it among the clients.
    ///   - publisher: whose events are carried.
    ///   - wantsEverything: whether every event is asked for that is no report of a process about itself.
    ///   - watchedNames: events that are asked for besides, reports among them.
    ///   - tap: sees every event that passes.
    ///   - gapTap: is told of events that did not come, in their place.
    static func attach(
        to path: String,
        as name: Subcommand.Name,
        publisher: EventPublisher,
        wantsEverything: Bool = false,
        watchedNames: Set<String> = [],
        tap: (@Sendable (PassingEvent) -> Void)? = nil,
        gapTap: (@Sendable (Gap) -> Void)? = nil
    ) async throws(RunFailure) -> BridgeClient {
        let end = MonotonicClock.now() + patience
        while true {
            do {
                return try await BridgeClient.connect(
                    to: path,
                    publisher: publisher,
                    name: "supervisor \(name.rawValue)",
                    wantsEverything: wantsEverything,
                    watchedNames: watchedNames,
                    tap: tap,
                    gapTap: gapTap
                )
            } catch {
                guard isCrowded(error), MonotonicClock.now() < end else { throw RunFailure(error, at: path) }
            }
            // So that those who were turned away together do not come back together.
            try? await Task.sleep(for: .milliseconds(.random(in: 20...150)))
        }
    }

    /// Attaches, asks how everything is, and leaves.
    static func status(at path: String, as name: Subcommand.Name) async throws(RunFailure) -> BridgeReport {
        let client = try await attach(to: path, as: name, publisher: EventPublisher())
        let answer: Result<BridgeReport, RunFailure>
        do {
            answer = .success(try await client.status())
        } catch {
            answer = .failure(RunFailure(error))
        }
        await client.close()
        return try answer.get()
    }

    /// A hundred that come at once are through in a second or two.
    private static let patience: UInt64 = 15_000_000_000

    /// Whether there may be room later: it was told so, or was cut off before anybody had spoken to it.
    private static func isCrowded(_ error: any Error) -> Bool {
        switch (error as? BridgeClientError)?.code {
        case .crowded, .linkEnded: true
        default: false
        }
    }
}

extension RunFailure {
    /// - Parameter path: of the socket, if nobody has answered there; nil if the failure came later.
    init(_ error: any Error, at path: String? = nil) {
        let code = (error as? BridgeClientError)?.code
        let status: ProgramStatus =
            switch code {
            case .notTrusted: .notPermitted
            case .system, nil: .system
            default: .workerUnavailable
            }
        let hint =
            path.map { "; is a supervisor running, with --control \($0) or `control` set?" }.flatMap {
                code == .unreachable ? $0 : nil
            } ?? ""
        self.init(status: status, description: TerminalText.harmlessLines("supervisor: \(error)\(hint)"))
    }
}
