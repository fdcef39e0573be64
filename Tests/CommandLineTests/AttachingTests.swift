import BridgePlatform
import Foundation
import TestSupport
import Testing

@Suite("A subcommand that is ended while it attaches", .timeLimit(.minutes(5)))
struct AttachingTests {
    /// Runs a subcommand at a socket where no process answers, and asks it once to end when it has connected.
    private func end(_ words: [String], in workspace: Workspace) async throws -> SupervisorProgram.Result {
        let listening = try SharedDescriptor(UnixSocket.bind(to: workspace.path + "/s"))
        try UnixSocket.startListening(listening.rawValue, backlog: 8)
        let poller = try Poller(name: "nobody")
        defer { poller.stop() }
        let connected = Collected<SharedDescriptor>()
        let registration = try poller.register(listening.rawValue, interest: .readable) { _ in
            guard let accepted = try? UnixSocket.accept(from: listening.rawValue) else { return }
            connected.add(SharedDescriptor(accepted))
        }
        defer { registration.cancel() }
        let programs = Collected<SupervisorProgram>()
        async let run = SupervisorProgram.run(
            words + ["--control", "s"],
            in: workspace.path,
            onStart: { programs.add($0) }
        )
        await connected.wait(for: 1)
        await programs.wait(for: 1)[0].terminate()
        let result = try await run
        withExtendedLifetime((connected, listening)) {}
        return result
    }

    @Test("tail ends at once")
    func tail() async throws {
        let workspace = try Workspace()
        let result = try await end(["tail"], in: workspace)
        #expect(result.status == .exited(code: 0) && result.errors.isEmpty, "\(result.errors)")
    }

    @Test("a watch ends at once")
    func watch() async throws {
        let workspace = try Workspace()
        let result = try await end(["status", "--watch"], in: workspace)
        #expect(result.status == .exited(code: 0) && result.errors.isEmpty, "\(result.errors)")
    }

    @Test("trace ends at once, and nothing is left of its file")
    func trace() async throws {
        let workspace = try Workspace()
        let result = try await end(["trace", "--for", "1h", "--output", "t.json"], in: workspace)
        #expect(result.status == .exited(code: 74) && result.errors.isEmpty, "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: workspace.path) == ["s"])
    }
}
