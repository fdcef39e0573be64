import BridgeClient
import BridgePlatform
import DomainEvents
import ExampleDomain
import Locks
import Testing

/// What clients found that attached while the program ran; noted once.
private final class Findings: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var noted: [String: String] = [:]

    var all: [String: String] { lock.withLock { noted } }

    func note(_ what: String, _ found: String) { lock.withLock { noted[what] = found } }
}

@Suite("supervisor run with a control socket")
struct ControlTests {
    private let configuration = """
        { control: "run/s", workers: [{ name: "worker", executable: "faulty-worker", arguments: ["--misbehave", "none"],
          subscribes: ["WorkRequested"], environment: { TSAN_OPTIONS: "\(CurrentProcess.environment("TSAN_OPTIONS") ?? "")" },
          handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } }] }
        """

    /// Publishes an event as a client and waits for a worker's answer.
    private static func ask(at path: String) async throws -> Int64 {
        let publisher = EventPublisher()
        let answers = publisher.events(of: WorkDone.self)
        let client = try await BridgeClient.connect(to: path, publisher: publisher, name: "a test")
        _ = try await publisher.deliver(WorkRequested(number: 7, text: "t7"), within: .seconds(120))
        for try await answer in answers {
            await client.close()
            return answer.number
        }
        return 0
    }

    @Test(
        "a client attaches at the path of the configuration, which counts from its file; a second supervisor is refused with the first's number",
        .timeLimit(.minutes(5))
    )
    func attach() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration)
        let findings = Findings()
        let path = workspace.path + "/run/s"
        let result = try await workspace.run(
            "run",
            workspace.path + "/bridge.json5",
            onError: { program, line in
                guard line.contains("is ready") else { return }
                Task {
                    findings.note("answer", "\(try await Self.ask(at: path))")
                    let second = try await workspace.run("run", "bridge.json5", "--control", "run/s")
                    findings.note("status", "\(second.status)")
                    findings.note("errors", second.errors.joined(separator: "\n"))
                    program.terminate()
                }
            }
        )
        #expect(result.status == .exited(code: 0))
        #expect(findings.all["answer"] == "7")
        #expect(findings.all["status"] == "\(BridgePlatform.ExitStatus.exited(code: 71))")
        let refusal = findings.all["errors"] ?? ""
        #expect(refusal.contains("the socket \(path) belongs to process ") && refusal.contains("which is running"))
        #expect(result.errors.contains { $0.contains("client-1 \"a test\" (process ") && $0.hasSuffix("has attached") })
        #expect(
            result.errors.contains { $0.contains("client-1") && $0.contains("said goodbye: the client was closed") }
        )
        #expect(!OperatingSystem.fileExists(path))
    }
}
