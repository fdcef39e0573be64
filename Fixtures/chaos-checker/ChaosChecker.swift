import BridgePlatform
import ChaosLedger

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Proves or disproves what a bridge promises, from the ledgers of a run alone: `chaos-checker FOLDER`.
///
/// The checker knows nothing of the bridge. It reads ledgers while the run lasts, so that they need not be kept, and
/// ends when the board says that all other processes have ended. The status is 0 if every accepted event has met one of
/// the promised fates, in order, and events came again only after a death.
@main
struct ChaosChecker {
    /// Exit statuses; all but the first are from sysexits.h.
    private enum ExitCode {
        static let fault: CInt = 1
        static let usage: CInt = 64
        static let software: CInt = 70
    }

    static func main() {
        guard CommandLine.arguments.count == 2, let folder = CommandLine.arguments.last else {
            CurrentProcess.report("expected `chaos-checker FOLDER`")
            exit(ExitCode.usage)
        }
        do {
            let parent = CurrentProcess.parentIdentifier
            _ = try ParentDeathSignal.arm(SIGKILL, expectedParent: parent)
            let board = try Board(in: folder)
            var checker = Checker(folder: folder)
            while true {
                let isOver = board.phase == .over
                let hasRead = try checker.advance(isOver: isOver)
                if isOver, !hasRead { break }
                if !hasRead { usleep(2_000) }
            }
            let report = checker.finish(try Announcements(in: folder), attachments: board.attachments)
            CurrentProcess.writeAll(report.text + "\n", to: STDOUT_FILENO)
            exit(report.isGood ? 0 : ExitCode.fault)
        } catch {
            CurrentProcess.report("\(error)")
            exit(ExitCode.software)
        }
    }
}
