import BridgePlatform
import BridgeWorker
import ChaosLedger
import DomainEvents
import Locks

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A worker of the chaos driver, `chaos-worker FOLDER SEED`, and its client, `chaos-worker FOLDER SEED SOCKET`.
///
/// The worker's name says which party it is. The process publishes and handles events as that party, and writes down
/// what it does, until it is ended.
@main
struct ChaosWorker {
    /// Exit statuses of sysexits.h.
    private enum ExitCode {
        static let usage: CInt = 64
        static let software: CInt = 70
    }

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard (2...3).contains(arguments.count), let seed = UInt64(arguments[1]) else {
            CurrentProcess.report(
                "expected `chaos-worker FOLDER SEED [SOCKET]`, found \(arguments.joined(separator: " "))"
            )
            exit(ExitCode.usage)
        }
        let folder = arguments[0]
        do {
            if arguments.count == 3 {
                _ = try ParentDeathSignal.arm(SIGKILL, expectedParent: CurrentProcess.parentIdentifier)
                try await ClientLife(folder: folder, seed: seed, socket: arguments[2]).run()
                exit(0)
            }
            if CurrentProcess.environment("EVENT_BRIDGE_NAME") == Party.witness.name {
                var witness = try WitnessLife(folder: folder)
                try witness.run()
                exit(0)
            }
        } catch {
            CurrentProcess.report("\(error)")
            exit(ExitCode.software)
        }
        await BridgeWorker.main { publisher in try subscribe(publisher, folder, seed) }
    }

    private static func subscribe(
        _ publisher: EventPublisher,
        _ folder: String,
        _ seed: UInt64
    ) throws -> [Subscription] {
        let source = publisher.source
        let board = try Board(in: folder)
        let ordinal = board.takeOrdinal()
        guard let party = Party(name: source.origin), party != .host else {
            throw LedgerError("a worker is called after a party of the run, not \(source.origin)")
        }
        let life = WorkerLife(
            publisher: publisher,
            board: board,
            sent: try SentLedger(in: folder, party: party, ordinal: ordinal, incarnation: source.incarnation),
            handled: try HandledLedger(in: folder, name: source.origin, board: board),
            // Each life has its own seed, which depends on the order in which lives take their numbers.
            seed: seed &+ ordinal
        )
        return try life.begin(as: party)
    }
}
