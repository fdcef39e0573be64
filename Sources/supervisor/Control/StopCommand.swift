import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents

/// `supervisor stop`: waits for the supervisor's goodbye and then, as far as possible, for the end of its process.
///
/// A supervisor says goodbye to its clients before it prints its last lines and closes its journal. Another supervisor
/// can open the journal only when the journal is closed.
struct StopCommand {
    /// How long the process may take to end after its goodbye, in milliseconds.
    ///
    /// A process whose last lines are not read takes longer; so does another program that goes on after its host's end.
    private static let lastMoment: Int32 = 10_000

    let control: String?

    func run() async throws(RunFailure) -> String? {
        let path = ControlPath.find(control)
        let client = try await HostConnection.attach(to: path, as: .stop, publisher: EventPublisher())
        // This comes while the link shows that the process lives, so that no other process can have its number.
        let process = await process(of: client, at: path)
        var failure: RunFailure?
        do {
            // A limit that is never reached: the supervisor ends by itself, and its workers' graces decide when.
            try await client.stopHost(within: .seconds(366 * 24 * 3600))
        } catch {
            failure = RunFailure(error)
        }
        await client.close()
        if let failure { throw failure }
        if let process { await waitForEnd(of: process) }
        return nil
    }

    /// The supervisor's process; nil if this program cannot wait for its end.
    private func process(of client: BridgeClient, at path: String) async -> OtherProcess? {
        // The numbers differ if a service manager has made the socket, or if the supervisor runs in a container.
        guard let number = try? await client.status().pid,
            let socket = try? UnixSocket.connectWithoutWaiting(to: path),
            let peer = try? UnixSocket.peerCredentials(of: socket.rawValue), peer.processIdentifier == number
        else { return nil }
        return try? OtherProcess(number)
    }

    private func waitForEnd(of process: OtherProcess) async {
        await withCheckedContinuation { continuation in
            do {
                try PlatformThread.start(name: "stop") {
                    _ = process.ends(withinMilliseconds: Self.lastMoment)
                    continuation.resume()
                }
            } catch {
                // No thread is available. The host has ended, so the command returns without waiting for its process.
                continuation.resume()
            }
        }
    }
}
