import BridgePlatform
import BridgeProtocol

/// The program `supervisor`.
@main
enum SupervisorCommand {
    static func main() async {
        CurrentProcess.fillStandardStreams()
        CurrentProcess.keepLittleFreeMemory()
        CurrentProcess.raiseDescriptorLimit()
        SignalSource.ignoreBrokenPipes()
        SignalSource.ignoreFileSizeLimit()
        CurrentProcess.exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func run(_ arguments: [String]) async -> ProgramStatus {
        let invocation: Invocation
        do {
            invocation = try CommandLineParser.parse(arguments)
        } catch {
            return misused(error)
        }
        switch invocation {
        case .help(let topic): return say(HelpText.text(topic))
        case .manual(let topic): return say(ManualPage.text(topic))
        case .version: return say("supervisor, \(LibraryVersion.text)")
        case .completion(let shell): return say(CompletionScript.text(for: shell))
        case .completionNames(let names): return await names.run().map(say) ?? .success
        case .check(let configuration): return answer(CheckCommand(configuration: configuration).run())
        case .graph(let configuration, let format):
            return answer(GraphCommand(configuration: configuration, format: format).run())
        case .events(let options):
            return await ended { try await EventsCommand(options: options).run(printing: say) }
        case .trace(let options): return await ended(by: TraceCommand(options: options).run)
        case .run(let options): return await ended(by: RunCommand(options: options).run)
        case .status(let options): return await told(by: StatusCommand(options: options).run)
        case .start(let worker, let control):
            return await told(by: WorkerCommand(action: .start, worker: worker, control: control).run)
        case .stop(let worker?, let control):
            return await told(by: WorkerCommand(action: .stop, worker: worker, control: control).run)
        case .stop(nil, let control): return await told(by: StopCommand(control: control).run)
        case .restart(let worker, let control):
            return await told(by: WorkerCommand(action: .restart, worker: worker, control: control).run)
        case .signal(let worker, let signal, let control):
            return await told(by: WorkerCommand(action: .signal(signal), worker: worker, control: control).run)
        case .reload(let options):
            return await ended { try await ReloadCommand(options: options).run(printing: say) }
        case .deadLetters(let options):
            return await ended { try await DeadLettersCommand(options: options).run(printing: say) }
        case .journal(let options):
            return await ended { try await JournalCommand(options: options).run(printing: printed) }
        case .logs(let options):
            return await ended { try await LogsCommand(options: options).run { printed($0) } }
        case .metrics(let control): return await told(by: MetricsCommand(control: control).run)
        case .tail(let options): return await ended(by: TailCommand(options: options).run)
        case .publish(let options): return await told(by: PublishCommand(options: options).run)
        case .request(let options):
            return await ended { try await RequestCommand(options: options).run(printing: say) }
        }
    }

    private static func answer(_ answer: (status: ProgramStatus, text: String)) -> ProgramStatus {
        if answer.status == .success { return say(answer.text) }
        CurrentProcess.report(TerminalText.harmlessLines(answer.text))
        return answer.status
    }

    /// Runs a command that speaks to a running supervisor, and prints its result, or why it failed.
    private static func told(by command: () async throws(RunFailure) -> String?) async -> ProgramStatus {
        await ended {
            guard let text = try await command() else { return .success }
            return say(text)
        }
    }

    /// Runs a command and returns its status; a failure is printed, and its status is returned.
    private static func ended(by command: () async throws -> ProgramStatus) async -> ProgramStatus {
        do {
            return try await command()
        } catch let error as UsageError {
            return misused(error)
        } catch let failure as RunFailure {
            CurrentProcess.report(failure.description)
            return failure.status
        } catch {
            CurrentProcess.report("supervisor: \(error)")
            return .system
        }
    }

    private static func misused(_ error: UsageError) -> ProgramStatus {
        CurrentProcess.report("supervisor: \(error)\nusage: \(HelpText.usage(error.topic))")
        return .usage
    }

    /// Prints the answer; it is no failure if the reader has closed standard output.
    private static func say(_ text: String) -> ProgramStatus { printed(text).status }

    private static func printed(_ text: String) -> PrintOutcome {
        guard case .failed(let error, _) = SystemFile.standardOutput.write(Array("\(text)\n".utf8)) else {
            return .printed
        }
        guard !error.hasNoReader else { return .readerGone }
        CurrentProcess.report("supervisor: standard output: \(error)")
        return .failed
    }
}
