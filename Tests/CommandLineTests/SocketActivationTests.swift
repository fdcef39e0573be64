import BridgeClient
import BridgePlatform
import DomainEvents
import ExampleDomain
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("supervisor run with a control socket of the service manager's")
struct SocketActivationTests {
    private static func configuration(_ more: String = "", control: String = "") -> String {
        """
        { \(control) workers: [{ name: "worker", executable: "faulty-worker", arguments: ["--misbehave", "none"],
          subscribes: ["WorkRequested"], \(Workspace.workerEnvironment), handshake: "4m", heartbeat: { every: "1m" },
          shutdown: { grace: "4m" } }, \(more)] }
        """
    }

    /// Runs the program as systemd does: with the socket as descriptor 3, and variables that name its process.
    private func run(
        _ workspace: Workspace,
        passing descriptors: CInt...,
        variables: String = "LISTEN_PID=$$",
        arguments: [String] = [],
        onError: @escaping @Sendable (SupervisorProgram, String) -> Void = { _, _ in }
    ) async throws -> SupervisorProgram.Result {
        try await SupervisorProgram.run(
            [
                "-c", "export \(variables); exec \"$0\" \"$@\"", SupervisorProgram.products() + "/supervisor", "run",
                "bridge.json5",
            ]
                + arguments,
            of: "/bin/sh",
            in: workspace.path,
            environment: ["LISTEN_FDS": "\(descriptors.count)", "LISTEN_FDNAMES": "control"],
            passing: descriptors.enumerated().map {
                SpawnRequest.Passed(child: CInt($0.offset + 3), parent: $0.element)
            },
            onError: onError
        )
    }

    private func refusal(_ result: SupervisorProgram.Result) -> String { result.errors.joined(separator: "\n") }

    @Test(
        "clients attach at it, workers hear nothing of it, and it is the manager's before and after",
        .timeLimit(.minutes(5))
    )
    func attached() async throws {
        let workspace = try Workspace()
        let path = workspace.path + "/s"
        let manager = try UnixSocket.listen(at: path)
        let curious = try workspace.program("curious", "#!/bin/sh\nenv\necho that was all\n")
        try workspace.write(
            "bridge.json5",
            Self.configuration(
                #"{ name: "curious", executable: "\#(curious)", restart: "temporary" }"#,
                control: #"control: "\#(path)","#
            )
        )
        let steps = Count()
        let result = try await run(
            workspace,
            passing: manager.rawValue,
            onError: { program, line in
                guard line.contains("\"worker\" is ready") || line.contains("that was all"), steps.increment() == 2
                else {
                    return
                }
                Task {
                    let publisher = EventPublisher()
                    let client = try await BridgeClient.connect(to: path, publisher: publisher, name: "a test")
                    _ = try await publisher.deliver(WorkRequested(number: 7, text: ""), within: .seconds(120))
                    await client.close()
                    program.terminate()
                }
            }
        )
        // The curious worker never became ready.
        #expect(result.status == .exited(code: 69))
        #expect(result.errors.contains { $0.contains("client-1 \"a test\" (process ") && $0.hasSuffix("has attached") })
        #expect(result.errors.contains("[curious] that was all"))
        #expect(!result.errors.contains { $0.contains("LISTEN_") })
        #expect(OperatingSystem.fileExists(path))
        #expect(!OperatingSystem.fileExists(path + ".lock"))
        let late = try UnixSocket.connect(to: path)
        #expect(try UnixSocket.accept(from: manager.rawValue) != nil)
        withExtendedLifetime(late) {}
    }

    @Test("a configuration needs not name it, and may not name another", .timeLimit(.minutes(5)))
    func path() async throws {
        let workspace = try Workspace()
        let manager = try UnixSocket.listen(at: workspace.path + "/s")
        try workspace.write("bridge.json5", Self.configuration())
        let unnamed = try await run(
            workspace,
            passing: manager.rawValue,
            onError: { program, line in if line.contains("is ready") { program.terminate() } }
        )
        #expect(unnamed.status == .exited(code: 0))
        try workspace.write("bridge.json5", Self.configuration(control: #"control: "/elsewhere/s","#))
        let other = try await run(workspace, passing: manager.rawValue)
        #expect(other.status == .exited(code: 78))
        #expect(
            other.errors == [
                """
                bridge.json5: control: found /elsewhere/s, but the service manager has made the socket \(workspace.path)/s; expected \
                the same, or none
                """
            ]
        )
        let stated = try await run(workspace, passing: manager.rawValue, arguments: ["--control", "t"])
        #expect(stated.status == .exited(code: 64))
        #expect(stated.errors.first?.hasPrefix("--control: found \(workspace.path)/t, but") == true)
        withExtendedLifetime(manager) {}
    }

    @Test("what is no such socket, or for another process, is named, and nothing is started", .timeLimit(.minutes(5)))
    func refused() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration())
        let socket = try UnixSocket.listen(at: workspace.path + "/s")
        let pipe = try FileDescriptor.pipe()
        let noSocket = try await run(workspace, passing: pipe.reading.rawValue)
        #expect(
            refusal(noSocket).contains(
                "the descriptor 3 (control) that the service manager passes is no socket; expected a"
            )
        )
        let two = try await run(workspace, passing: socket.rawValue, socket.rawValue)
        #expect(
            refusal(two).contains(
                "the service manager passes 2 descriptors (control); expected one, the control socket"
            )
        )
        let others = try await run(workspace, passing: socket.rawValue, variables: "LISTEN_PID=1")
        #expect(refusal(others).contains("are for process 1 (LISTEN_PID), and this is process "))
        for result in [noSocket, two, others] {
            #expect(result.status == .exited(code: 71))
            #expect(result.errors.count == 1)
        }
        withExtendedLifetime(socket) {}
        withExtendedLifetime(pipe) {}
    }
}
