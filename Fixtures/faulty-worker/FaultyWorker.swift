import BridgePlatform
import BridgeWorker

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A worker for tests that does one thing wrong: `faulty-worker --misbehave NAME`, with the names of ``Misbehaviour``.
@main
struct FaultyWorker {
    /// EX_USAGE of sysexits.h.
    private static let usage: CInt = 64

    /// The longest life in seconds: however a test ends, none of its workers lives longer.
    private static let longestLife: CUnsignedInt = 300

    static func main() async {
        alarm(longestLife)
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, arguments.first == "--misbehave", let name = arguments.last,
            let misbehaviour = Misbehaviour(named: name)
        else {
            let found = arguments.isEmpty ? "nothing" : arguments.joined(separator: " ")
            CurrentProcess.report("expected `--misbehave NAME`, found \(found); the names are \(Misbehaviour.names)")
            exit(usage)
        }
        switch misbehaviour {
        case .crashBeforeHello: Crash.now()
        case .exitEarly: exit(0)
        case .noHello, .badVersion, .garbage: withLink { $0.misbehaveBeforeHello(misbehaviour) }
        case .tornFrame, .hugeFrame, .deepPayload, .floodWindow, .slowFrame, .floodControl, .floodNames, .floodInterest,
            .nameAll, .command, .ignoreTermination:
            withLink { $0.misbehaveAfterHandshake(misbehaviour) }
        case .grandchild: Grandchild.leave(holdingLink: false)
        case .leakDescriptor, .burstHeld: Grandchild.leave(holdingLink: true)
        case .daemon: Grandchild.leaveDaemon()
        case .writeAfterDeath: Grandchild.leaveWriter()
        case .violate: WrongFrame.prepare()
        default: break
        }
        Burst.prepare(misbehaviour)
        await BridgeWorker.main { publisher in FaultyHandlers.subscribe(misbehaviour, publisher) }
    }

    /// A worker that is started by hand has no link; the ordinary worker below reports that.
    private static func withLink(_ body: (inout RawLink) -> Never) {
        if var link = RawLink() { body(&link) }
    }
}
