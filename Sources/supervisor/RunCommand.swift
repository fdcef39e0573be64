import BridgePlatform
import DomainEvents
import EventBridge
import EventRouting
import JSONText
import Journal
import Supervision
import SupervisorConfiguration

/// `supervisor run`: runs the workers of a configuration until it is asked to stop or has nothing left to do.
struct RunCommand {
    let options: RunOptions

    func run() async throws -> ProgramStatus {
        // This call changes the environment, so it comes before any thread starts.
        let passed = try ControlSocket.passedByServiceManager()
        let diagnostics = try Diagnostics.onStandardError()
        // If this run fails, the caller prints the reason itself, past the queue of the diagnostics. So the queue is
        // emptied first.
        defer { diagnostics.output.flush() }
        return try await run(diagnostics, passed)
    }

    private func run(_ diagnostics: Diagnostics, _ passed: ControlSocket?) async throws -> ProgramStatus {
        var configuration = try loadConfiguration(diagnostics)
        var control = try controlSocket(configuration, passed)
        let input = try openInput()
        let needsSocket = control == nil && options.dashboard != nil
        let directory = needsSocket ? try PrivateDirectory.make(named: "supervisor") : nil
        defer { directory?.remove() }
        if let directory { control = ControlSocket("\(directory.path)/control") }
        let dashboard = try dashboard(at: control, configuration)
        if let dashboard { configuration = dashboard.added(to: configuration) }
        let events = try LineOutput(.standardOutput, name: "events", turns: .standardOutput) { failure in
            // A reader that has gone is not reported.
            if !failure.hasNoReader { diagnostics.say(Self.sentence(of: failure), .error) }
        }
        let publisher = EventPublisher()
        let journal = try openJournal(configuration, of: publisher)
        for finding in journal?.findings ?? [] { diagnostics.say(finding, .warning) }
        let formatter = formatter(for: configuration)
        let bridge = try makeBridge(configuration, control, publisher: publisher) { event in
            guard !WorkerReporter.reports.contains(EventName(event.name)) else { return }
            events.write(formatter.line(PrintedEvent(event)), whenFull: .wait)
        }
        let run = BridgeRun(
            bridge: bridge,
            publisher: publisher,
            options: options,
            input: input,
            events: events,
            diagnostics: diagnostics,
            reload: ConfigurationReload(
                started: configuration,
                options: options,
                dashboard: dashboard,
                bridge: bridge,
                diagnostics: diagnostics
            )
        )
        let status = try await run.run()
        guard let journal = journal?.journal else { return status }
        let isSafe = await makeSafe(journal, diagnostics)
        await journal.close()
        return status == .success && !isSafe ? .output : status
    }

    /// Makes all recorded events safe; if that fails, says why and returns false.
    private func makeSafe(_ journal: EventJournal, _ diagnostics: Diagnostics) async -> Bool {
        do {
            try await journal.synchronize()
            return true
        } catch {
            diagnostics.say("the last recorded events are not safe: \(error)", .error)
            return false
        }
    }

    /// Opens the journal that the configuration names; nil if it names none.
    ///
    /// A relative path of the journal counts from the configuration's directory.
    private func openJournal(
        _ configuration: SupervisorConfiguration,
        of publisher: EventPublisher
    ) throws(RunFailure) -> RunningJournal? {
        guard let settings = configuration.journal else { return nil }
        func failure(_ status: ProgramStatus, _ sentence: String) -> RunFailure {
            RunFailure(status: status, description: TerminalText.harmless("\(options.configuration): \(sentence)"))
        }
        if let mistake = RunningJournal.mistakes(in: settings).first { throw failure(.configuration, mistake) }
        let programs = ProgramSearch(configuration: options.configuration, missing: nil)
        do {
            return try RunningJournal(settings, at: programs.fromConfiguration(settings.directory), of: publisher)
        } catch {
            throw failure(.system, "\(error)")
        }
    }

    private func loadConfiguration(_ diagnostics: Diagnostics) throws -> SupervisorConfiguration {
        let missing = ConfigurationMistakes()
        let file = options.configuration
        do throws(SupervisorConfigurationError) {
            let programs = ProgramSearch(configuration: file, missing: missing)
            let configuration = try SupervisorConfiguration.load(file: file, programs: programs)
            // A missing program or file concerns only its own worker, so the run goes on.
            if !missing.isEmpty {
                let sentences = SupervisorConfigurationError.mistakes(file: file, missing.all).description
                for sentence in sentences.split(separator: "\n") { diagnostics.sayAt(String(sentence)) }
            }
            return configuration
        } catch {
            throw RunFailure(status: error.status, description: TerminalText.harmlessLines(error.description))
        }
    }

    private static func sentence(of failure: SystemFileError) -> String {
        "events are not printed\(failure.hasNoRoom ? " until there is room" : " any more"): standard output: \(failure)"
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
        _ control: ControlSocket?,
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
                control: control,
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

    /// The socket that the command line names, or else the one that the configuration names; nil if neither names one.
    ///
    /// A relative path on the command line counts from the working directory. A relative path in the configuration
    /// counts from the configuration's directory.
    private func statedControl(_ configuration: SupervisorConfiguration) -> ControlSocket? {
        if let path = options.control { return ControlSocket(path) }
        guard let path = configuration.control else { return nil }
        guard !path.hasPrefix("/"), let slash = options.configuration.lastIndex(of: "/") else {
            return ControlSocket(path)
        }
        return ControlSocket(options.configuration[...slash] + path)
    }

    /// The socket that the service manager has passed, or else the stated one; if there are both, they must be equal.
    private func controlSocket(
        _ configuration: SupervisorConfiguration,
        _ passed: ControlSocket?
    ) throws(RunFailure) -> ControlSocket? {
        guard let stated = statedControl(configuration), let passed else {
            return passed ?? statedControl(configuration)
        }
        let path =
            stated.path.hasPrefix("/") ? stated.path : "\(OperatingSystem.workingDirectory ?? ".")/\(stated.path)"
        guard path != passed.path else { return passed }
        let (place, status): (String, ProgramStatus) =
            options.control == nil ? ("\(options.configuration): control", .configuration) : ("--control", .usage)
        throw RunFailure(
            status: status,
            description: TerminalText.harmless(
                "\(place): found \(path), but the service manager has made the socket \(passed.path); expected the same, or none"
            )
        )
    }

    private func dashboard(
        at control: ControlSocket?,
        _ configuration: SupervisorConfiguration
    ) throws(RunFailure) -> Dashboard? {
        guard let port = options.dashboard, let control else { return nil }
        let dashboard = try Dashboard(port: port, control: control.path)
        guard let mistake = dashboard.mistake(in: configuration) else { return dashboard }
        throw RunFailure(
            status: .configuration,
            description: TerminalText.harmless("\(options.configuration): \(mistake)")
        )
    }

    private func formatter(for configuration: SupervisorConfiguration) -> any EventFormatter {
        switch options.format {
        case .json: return CloudEventFormatter()
        case .text:
            return TextFormatter.onStandardOutput(
                origins: configuration.workers.flatMap(\.processNames),
                names: configuration.workers.flatMap { $0.subscribes + ($0.publishes ?? []) }
            )
        }
    }
}

/// Why a command has failed: the sentences, and the exit status.
struct RunFailure: Error {
    let status: ProgramStatus
    let description: String
}
