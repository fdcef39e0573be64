import BridgePlatform
import ChaosLedger

/// Kills workers under full load and proves that no accepted event is lost, repeated unannounced or reordered:
/// `chaos-driver [--kills COUNT] [--seed NUMBER] [--folder DIRECTORY] [--outbox KIB]`.
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
