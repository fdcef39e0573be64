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

/// A worker of the chaos driver: `chaos-worker FOLDER SEED`.
///
/// It publishes as fast as it may, also from its handlers, writes down what it does, and is killed.
@main
struct ChaosWorker {
    /// EX_USAGE of sysexits.h.
    private static let usage: CInt = 64

    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let folder = arguments.first, let seed = arguments.last.flatMap({ UInt64($0) })
        else {
            CurrentProcess.report("expected `chaos-worker FOLDER SEED`, found \(arguments.joined(separator: " "))")
            exit(usage)
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
        // Repeatable as far as a run is: the start that this is does not hang on chance.
        let seed = seed &+ ordinal
        guard let party = Party(name: source.origin), party != .host else {
            throw LedgerError("a worker is called a or b, not \(source.origin)")
        }
        let sent = try SentLedger(in: folder, party: party, ordinal: ordinal, incarnation: source.incarnation)
        let handled = try HandledLedger(in: folder, party: party, ordinal: ordinal)
        let life = WorkerLife(publisher: publisher, board: board, sent: sent, handled: handled, seed: seed)
        return party == .a
            ? life.begin(.aToHost, .aToB, .aFromHandler, own: ForA.self, peer: ForB.self, FromA.self, FromB.self)
            : life.begin(.bToHost, .bToA, .bFromHandler, own: ForB.self, peer: ForA.self, FromB.self, FromA.self)
    }
}
