import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// `supervisor logs`: shows a worker's last lines, and its further lines as it prints them.
struct LogsCommand {
    let options: LogsOptions

    /// - Parameter printing: prints lines; called on a thread that may wait.
    func run(printing: @escaping @Sendable (String) -> PrintOutcome) async throws -> ProgramStatus {
        let signs = LogSigns(of: options.worker)
        let publisher = EventPublisher(origin: "logs")
        let subscriptions = options.follows ? signs.subscribe(to: publisher) : []
        let poller = try Poller(name: "logs")
        defer { poller.stop() }
        // There is nothing to finish, because the supervisor keeps nothing for this client.
        let signals =
            try options.follows
            ? SignalSource.install(StopRequests.signals, on: poller) { _ in
                CurrentProcess.exitImmediately(ProgramStatus.success.rawValue)
            } : nil
        defer { signals?.cancel() }
        let client = try await HostConnection.attach(
            to: ControlPath.find(options.control),
            as: .logs,
            publisher: publisher
        )
        let reader =
            options.follows
            ? SystemFile.standardOutput.whenReaderGoes(on: poller) { signs.end(.readerGone) } : nil
        defer { reader?.cancel() }
        let result: Result<ProgramStatus, any Error>
        do {
            result = .success(try await show(client, signs, printing))
        } catch let failure as RunFailure {
            result = .failure(failure)
        } catch {
            result = .failure(RunFailure(error))
        }
        await client.close(drainingWithin: .zero)
        withExtendedLifetime(subscriptions) {}
        return try result.get()
    }

    private func show(
        _ client: BridgeClient,
        _ signs: LogSigns,
        _ printing: @escaping @Sendable (String) -> PrintOutcome
    ) async throws -> ProgramStatus {
        let report = try await client.status()
        guard report.workerNames.contains(options.worker) else {
            throw RunFailure(unknownWorker: options.worker, among: report.workerNames)
        }
        let text = LogsText(
            namesWorkers: report.workers.contains { $0.pool == options.worker },
            secondsAheadOfUTC: OperatingSystem.secondsAheadOfUTC
        )
        var last: UInt64 = 0
        while true {
            let answer = try await client.output(of: options.worker, after: last)
            last = answer.lines.last?.number ?? last
            if let lines = text.lines(answer) {
                // The poller watches only a pipe's reader. If a socket's reader has gone, only a failed write shows it.
                let outcome = try await printed(lines, by: printing)
                guard outcome == .printed else { return outcome.status }
            }
            guard answer.isComplete else { continue }
            guard options.follows else { return .success }
            switch await signs.next() {
            case nil: continue
            case .readerGone?: return .success
            case .hostLost(let reason)?:
                throw RunFailure(
                    status: .workerUnavailable,
                    description: "supervisor: \(TerminalText.harmless(reason))"
                )
            }
        }
    }

    private func printed(
        _ lines: String,
        by printing: @escaping @Sendable (String) -> PrintOutcome
    ) async throws -> PrintOutcome {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try PlatformThread.start(name: "logs") { continuation.resume(returning: printing(lines)) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
