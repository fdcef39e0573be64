import BridgePlatform
import DomainEvents
import EventBridge
import EventRouting
import JSONText
import Supervision

/// `supervisor run`: runs the workers of a configuration until it is told to stop or has nothing left to do.
struct RunCommand {
    let options: RunOptions

    func run() async -> ProgramStatus {
        do {
            let diagnostics = Diagnostics(output: try LineOutput(.standardError, name: "diagnostics"))
            // What was said so far comes before the reason for the end.
            defer { diagnostics.output.flush() }
            return try await run(diagnostics)
        } catch let failure as RunFailure {
            CurrentProcess.report(failure.description)
            return failure.status
        } catch {
            CurrentProcess.report("supervisor: \(error)")
            return .system
        }
    }

    private func run(_ diagnostics: Diagnostics) async throws -> ProgramStatus {
        let configuration = try loadConfiguration(diagnostics)
        let input = try openInput()
        let events = try LineOutput(.standardOutput, name: "events")
        let publisher = EventPublisher()
        let formatter = formatter(for: configuration)
        let bridge = try makeBridge(configuration, publisher: publisher) { event in
            guard !WorkerReporter.reports.contains(event.name) else { return }
            events.write(formatter.line(PrintedEvent(event)), whenFull: .wait)
        }
        let run = BridgeRun(
            bridge: bridge,
            publisher: publisher,
            options: options,
            input: input,
            events: events,
            diagnostics: diagnostics
        )
        return try await run.run()
    }

    private func loadConfiguration(_ diagnostics: Diagnostics) throws -> SupervisorConfiguration {
        let missing = ConfigurationMistakes()
        let file = options.configuration
        do throws(SupervisorConfigurationError) {
            let programs = ProgramSearch(configuration: file, missing: missing)
            let configuration = try SupervisorConfiguration.load(file: file, programs: programs)
            // No reason not to run the others.
            if !missing.isEmpty {
                let sentences = SupervisorConfigurationError.mistakes(file: file, missing.all).description
                for sentence in sentences.split(separator: "\n") { diagnostics.sayAt(String(sentence)) }
            }
            return configuration
        } catch {
            throw RunFailure(status: error.status, description: TerminalText.harmlessLines(error.description))
        }
    }

    private func openInput() throws(RunFailure) -> SystemFile? {
        switch options.input {
        case nil: return nil
        case .standardInput?: return .standardInput
        case .file(let path)?:
            do {
                return try SystemFile.open(reading: path)
            } catch {
                let name = TerminalText.harmless(path)
                throw RunFailure(status: .noInput, description: "\(name): the input cannot be read: \(error)")
            }
        }
    }

    private func makeBridge(
        _ configuration: SupervisorConfiguration,
        publisher: EventPublisher,
        tap: @escaping @Sendable (PassingEvent) -> Void
    ) throws -> BridgeHost {
        do {
            return try BridgeHost(
                publisher: publisher,
                workers: configuration.workerSpecifications,
                strategy: configuration.restartStrategy,
                intensity: configuration.restartIntensity,
                automaticShutdown: configuration.bridgeShutdown,
                startOrder: configuration.bridgeStartOrder,
                deadLetters: configuration.deadLetterLimits,
                launcher: nil,
                wantsEverything: true,
                tap: tap
            )
        } catch let error as BridgeError where error.code == .invalidSpecification {
            let lines = error.description.split(separator: "\n").map { "\(options.configuration): \($0)" }
            throw RunFailure(
                status: .configuration,
                description: TerminalText.harmlessLines(lines.joined(separator: "\n"))
            )
        }
    }

    private func formatter(for configuration: SupervisorConfiguration) -> any EventFormatter {
        switch options.format {
        case .json: return CloudEventFormatter()
        case .text:
            return TextFormatter(
                origins: configuration.workers.flatMap(\.processNames),
                names: configuration.workers.flatMap { $0.subscribes + ($0.publishes ?? []) },
                isColoured: TextFormatter.isColourWanted(
                    isTerminal: SystemFile.standardOutput.isTerminal,
                    environment: CurrentProcess.environment
                ),
                secondsAheadOfUTC: OperatingSystem.secondsAheadOfUTC
            )
        }
    }
}

/// Why a run does not begin: the sentences, and the exit status.
struct RunFailure: Error {
    let status: ProgramStatus
    let description: String
}
