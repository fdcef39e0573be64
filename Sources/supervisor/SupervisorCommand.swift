import BridgePlatform
import BridgeProtocol

/// The program `supervisor`.
@main
enum SupervisorCommand {
    static func main() async {
        SignalSource.ignoreBrokenPipes()
        CurrentProcess.exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func run(_ arguments: [String]) async -> ProgramStatus {
        let invocation: Invocation
        do {
            invocation = try CommandLineParser.parse(arguments)
        } catch {
            CurrentProcess.report("supervisor: \(error)\nusage: \(HelpText.usage(error.topic))")
            return .usage
        }
        switch invocation {
        case .help(let topic): say(HelpText.text(topic))
        case .version: say("supervisor, \(LibraryVersion.text)")
        case .check(let configuration):
            let (status, text) = CheckCommand(configuration: configuration).run()
            if status == .success { say(text) } else { CurrentProcess.report(TerminalText.harmlessLines(text)) }
            return status
        case .run(let options): return await RunCommand(options: options).run()
        }
        return .success
    }

    private static func say(_ text: String) {
        _ = SystemFile.standardOutput.write(Array("\(text)\n".utf8))
    }
}
