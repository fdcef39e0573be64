import BridgePlatform
import BridgeWorker

/// Kills a host with a journal under load again and again, and checks what its workers get:
/// `host-chaos [--kills COUNT] [--events COUNT] [--seed NUMBER] [--folder DIRECTORY]`.
///
/// The program starts itself as the host, and the host starts the same program as its two workers.
@main
struct HostChaos {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if CurrentProcess.environment("EVENT_BRIDGE_FD") != nil, let folder = arguments.first {
            await NumberWorker.main(in: folder)
            return
        }
        if let life = arguments.first.flatMap({ NumberHost.Life(rawValue: $0) }), arguments.count == 2 {
            try await NumberHost.run(life, in: arguments[2])
            return
        }
        guard let options = ChaosOptions(arguments) else {
            try SystemFile.standardError.append(Array((ChaosOptions.usage + "\n").utf8))
            CurrentProcess.exit(64)
        }
        CurrentProcess.exit(try KillRun(options).run() ? 0 : 1)
    }
}
