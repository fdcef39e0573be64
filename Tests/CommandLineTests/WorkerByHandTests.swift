import BridgePlatform
import Testing

@Suite("A worker that is started by hand")
struct WorkerByHandTests {
    @Test(
        "says in one line what it is, and exits with status 64",
        .timeLimit(.minutes(5)),
        arguments: ["provisioning-worker", "canvas-worker"]
    )
    func friendlyLine(name: String) async throws {
        let workspace = try Workspace()
        let result = try await SupervisorProgram.run([], of: name, in: workspace.path)
        #expect(result.status == .exited(code: 64))
        #expect(result.output.isEmpty)
        #expect(result.errors.count == 1)
        #expect(result.errors.first?.contains("this is a worker of an event bridge") == true)
    }
}
