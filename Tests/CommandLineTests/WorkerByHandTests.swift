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

    @Test(
        "with a link, but with too few descriptors, says what the system refused, and exits with status 70",
        .timeLimit(.minutes(5))
    )
    func fewDescriptors() async throws {
        let workspace = try Workspace()
        let pair = try UnixSocket.pair()
        let link = try FileDescriptor.duplicate(pair.first.rawValue)
        let worker = try SupervisorProgram.products() + "/canvas-worker"
        let result = try await SupervisorProgram.run(
            // With one descriptor left the libraries can be loaded, one after the other. The worker needs more.
            ["-c", "ulimit -n 5; exec \(worker)"],
            of: "/bin/sh",
            in: workspace.path,
            environment: ["EVENT_BRIDGE_FD": "3", "EVENT_BRIDGE_NAME": "canvas", "EVENT_BRIDGE_COOKIE": "none"],
            passing: [SpawnRequest.Passed(child: 3, parent: link.rawValue)]
        )
        link.close()
        #expect(result.status == .exited(code: 70))
        #expect(result.errors.count == 1)
        #expect(result.errors.first?.hasPrefix("the worker cannot begin: ") == true)
        #expect(result.errors.first?.hasSuffix(" failed: Too many open files (EMFILE)") == true)
    }
}
