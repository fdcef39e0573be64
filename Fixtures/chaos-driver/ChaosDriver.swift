import BridgePlatform
import ChaosLedger

/// Ends workers in all possible ways, under full load, and proves that each accepted event meets one of the promised
/// fates, in order, and that the host's memory stays in its bounds:
/// `chaos-driver [--ends COUNT] [--seed NUMBER] [--folder DIRECTORY] [--outbox KIB]`.
@main
struct ChaosDriver {
    private enum ExitCode {
        static let fault: CInt = 1
        static let usage: CInt = 64
        static let software: CInt = 70
    }

    static func main() async {
        guard let options = DriverOptions(CommandLine.arguments.dropFirst()) else {
            CurrentProcess.report(DriverOptions.usage)
            CurrentProcess.exit(ExitCode.usage)
        }
        do {
            let isGood = try await ChaosRun(options).run()
            CurrentProcess.exit(isGood ? 0 : ExitCode.fault)
        } catch {
            CurrentProcess.report("\(error)")
            CurrentProcess.exit(ExitCode.software)
        }
    }
}
