import BridgePlatform
import Testing

@Suite("Workers that are killed at random, under full load", .serialized)
struct ChaosTests {
    @Test("lose nothing, repeat nothing unannounced, and reorder nothing", .timeLimit(.minutes(5)))
    func nothingIsLost() async throws {
        let workspace = try Workspace()
        // Little is on its way compared with a run in release: a sanitizer makes each event slow.
        let kills = CurrentProcess.environment("CHAOS_TEST_KILLS") ?? "20"
        var arguments = ["--kills", kills, "--outbox", "512", "--folder", workspace.path]
        if let seed = CurrentProcess.environment("CHAOS_TEST_SEED") { arguments += ["--seed", seed] }
        let result = try await SupervisorProgram.run(arguments, of: "chaos-driver", in: workspace.path)
        // The seed and the table, which say what went wrong.
        #expect(result.status == .exited(code: 0), "\((result.output + result.errors).joined(separator: "\n"))")
        print(result.output.first ?? "no seed was printed")
    }

    @Test("A driver that does not understand its command line says how it is used", .timeLimit(.minutes(5)))
    func usage() async throws {
        let workspace = try Workspace()
        let result = try await SupervisorProgram.run(["--kills", "none"], of: "chaos-driver", in: workspace.path)
        #expect(result.status == .exited(code: 64))
        #expect(result.errors.first?.hasPrefix("usage: chaos-driver") == true)
    }
}
