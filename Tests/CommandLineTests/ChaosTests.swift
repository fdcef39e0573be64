import BridgePlatform
import TestSupport
import Testing

@Suite("Workers that meet ends of all kinds at random, under load", .serialized)
struct ChaosTests {
    @Test(
        "lose nothing, repeat nothing unannounced, reorder nothing, and take no memory without end",
        .timeLimit(.minutes(10))
    )
    func nothingIsLost() async throws {
        let workspace = try Workspace()
        // Fewer events are on their way than in a release run, and fewer still where a sanitizer makes each event slow.
        let (ends, outbox) = ("\(rounds(20, atLeast: 6))", "\(rounds(512, atLeast: 64))")
        var arguments = ["--ends", ends, "--outbox", outbox, "--folder", workspace.path]
        if let seed = CurrentProcess.environment("CHAOS_TEST_SEED") { arguments += ["--seed", seed] }
        let result = try await SupervisorProgram.run(arguments, of: "chaos-driver", in: workspace.path)
        // The message has the seed and the table, which say what went wrong.
        #expect(result.status == .exited(code: 0), "\((result.output + result.errors).joined(separator: "\n"))")
        print(result.output.first ?? "no seed was printed")
    }

    @Test("A driver that does not understand its command line says how it is used", .timeLimit(.minutes(5)))
    func usage() async throws {
        let workspace = try Workspace()
        let result = try await SupervisorProgram.run(["--ends", "none"], of: "chaos-driver", in: workspace.path)
        #expect(result.status == .exited(code: 64))
        #expect(result.errors.first?.hasPrefix("usage: chaos-driver") == true)
    }
}
