import BridgeClient
import BridgeControl
import BridgePlatform
import BridgeProtocol
import DomainEvents
import EventRouting

/// Attaches a subcommand to a running supervisor, and reports why an attempt has failed.
enum HostConnection {
    /// Attaches; if the supervisor may accept the client later, tries again for up to 15 seconds.
    ///
    /// - Parameters:
    ///   - path: the control socket's path.
    ///   - name: the subcommand's name, by which the supervisor's user finds it among the clients.
    ///   - publisher: the publisher whose events are carried.
    ///   - wantsEverything: whether the client asks for every event except the reports of processes about themselves.
    ///   - watchedNames: further events that the client asks for, reports among them.
    ///   - tap: sees every event that passes.
    ///   - gapTap: called for missing events, at their place among the events that pass.
    static func attach(
        to path: String,
        as name: Subcommand.Name,
        publisher: EventPublisher,
        wantsEverything: Bool = false,
        watchedNames: Set<EventName> = [],
        tap: (@Sendable (PassingEvent) -> Void)? = nil,
        gapTap: (@Sendable (Gap) -> Void)? = nil
    ) async throws(RunFailure) -> BridgeClient {
        do {
            return try await patiently {
                try await BridgeClient.connect(
                    to: path,
                    publisher: publisher,
                    name: title(of: name),
                    wantsEverything: wantsEverything,
                    watchedNames: watchedNames,
                    tap: tap,
                    gapTap: gapTap
                )
            }
        } catch {
            throw RunFailure(error, at: path)
        }
    }

    /// Attaches, asks, and leaves, whether or not there was an answer.
    ///
    /// - Parameters:
    ///   - control: the control socket's path as the command line has it.
    ///   - ask: asks the supervisor. A ``RunFailure`` that it throws is rethrown; other errors become a `RunFailure`.
    static func ask<Answer: Sendable>(
        _ control: String?,
        as name: Subcommand.Name,
        _ ask: (BridgeClient) async throws -> Answer
    ) async throws(RunFailure) -> Answer {
        let client = try await attach(to: ControlPath.find(control), as: name, publisher: EventPublisher())
        let answer: Result<Answer, RunFailure>
        do {
            answer = .success(try await ask(client))
        } catch {
            answer = .failure(error as? RunFailure ?? RunFailure(error))
        }
        await client.close()
        return try answer.get()
    }

    /// Attaches, asks for the report, and leaves.
    ///
    /// A supervisor of another version refuses the client, and sends its report with the refusal. This call then
    /// returns that report, and says on standard error that the versions differ.
    static func status(at path: String, as name: Subcommand.Name) async throws(RunFailure) -> BridgeReport {
        let client: BridgeClient
        do {
            client = try await patiently {
                try await BridgeClient.connect(to: path, publisher: EventPublisher(), name: title(of: name))
            }
        } catch {
            guard let report = (error as? BridgeClientError)?.report else { throw RunFailure(error, at: path) }
            let sentence = "supervisor: \(error); only its status report can be shown"
            CurrentProcess.report(TerminalText.harmlessLines(sentence))
            return report
        }
        let answer: Result<BridgeReport, RunFailure>
        do {
            answer = .success(try await client.status())
        } catch {
            answer = .failure(RunFailure(error))
        }
        await client.close()
        return try answer.get()
    }

    private static func title(of name: Subcommand.Name) -> String { "supervisor \(name.rawValue)" }

    /// Connects, and tries again if the supervisor is crowded.
    private static func patiently(_ connect: () async throws -> BridgeClient) async throws -> BridgeClient {
        let end = MonotonicClock.now() + timeout
        while true {
            do {
                return try await connect()
            } catch {
                guard isCrowded(error), MonotonicClock.now() < end else { throw error }
            }
            // A random pause, so that clients that were turned away together do not come back together.
            try? await Task.sleep(for: .milliseconds(.random(in: 20...150)))
        }
    }

    /// How long to try, in nanoseconds; a hundred clients that come at once are attached after a second or two.
    private static let timeout: UInt64 = 15_000_000_000

    /// Whether the supervisor may accept the client later: it said so, or ended the link before accepting the client.
    private static func isCrowded(_ error: any Error) -> Bool {
        switch (error as? BridgeClientError)?.code {
        case .crowded, .linkEnded: true
        default: false
        }
    }
}

extension RunFailure {
    /// - Parameter path: the socket's path, if the attempt to attach there failed; nil if the failure came later.
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
