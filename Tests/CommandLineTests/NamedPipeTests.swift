import BridgePlatform
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Pipes as files of supervisor", .timeLimit(.minutes(5)))
struct NamedPipeTests {
    @Test("the input may be a named pipe into which nothing is written before the workers are ready")
    func input() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let pipe = "\(workspace.path)/in"
        #expect(mkfifo(pipe, 0o600) == 0)
        let supervisor = workspace.start("run", "bridge.json5", "--input", "in", "--exit-when-idle")
        _ = try #require(await supervisor.line(with: "is ready (process"), "\(supervisor.lines)")
        let line = #"{"type": "WorkRequested", "data": {"number": 7, "text": "late"}}"#
        let writing = try await SupervisorProgram.run(
            ["-c", "echo '\(line)' > in"],
            of: "/bin/sh",
            in: workspace.path
        )
        #expect(writing.status == .exited(code: 0))
        let result = try await supervisor.result()
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        #expect(result.output.contains { $0.contains("WorkDone") && $0.contains("late") }, "\(result.output)")
    }

    @Test("a run whose named pipe of input is never written into ends when it is asked to")
    func inputThatNeverComes() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        #expect(mkfifo("\(workspace.path)/in", 0o600) == 0)
        let supervisor = workspace.start("run", "bridge.json5", "--input", "in", "--exit-when-idle")
        _ = try #require(await supervisor.line(with: "is ready (process"), "\(supervisor.lines)")
        supervisor.terminate()
        #expect(try await supervisor.result().status == .exited(code: 0), "\(supervisor.lines)")
    }

    @Test(
        "check waits for what a shell puts in a file's place, and takes an end without a word for the end",
        arguments: [
            ("supervisor check <(sleep 1; cat bridge.json5)", 0, "2 workers, configuration is right"),
            ("cat bridge.json5 | supervisor check /dev/stdin", 0, "2 workers, configuration is right"),
            ("mkfifo p; cat bridge.json5 > p & supervisor check p", 0, "2 workers, configuration is right"),
            ("mkfifo p; : > p & supervisor check p", 78, "found the end of the text, expected a value"),
            ("supervisor check <(:)", 78, "found the end of the text, expected a value"),
        ]
    )
    func configuration(script: String, status: Int32, sentence: String) async throws {
        guard access("/bin/bash", X_OK) == 0 else {
            return CurrentProcess.report("not tested: pipes of bash, as there is no bash")
        }
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge(workers: ["one", "two"]))
        let products = try SupervisorProgram.products()
        let result = try await SupervisorProgram.run(
            ["-c", script.replacing("supervisor", with: "'\(products)/supervisor'")],
            of: "/bin/bash",
            in: workspace.path
        )
        #expect(result.status == .exited(code: status), "\(result.errors)")
        #expect((result.output + result.errors).contains { $0.contains(sentence) }, "\(result.output) \(result.errors)")
    }

    @Test("check gives up a named pipe into which nothing is written")
    func configurationThatNeverComes() async throws {
        let workspace = try Workspace()
        #expect(mkfifo("\(workspace.path)/p", 0o600) == 0)
        let result = try await workspace.run("check", "p")
        #expect(result.status == .exited(code: 66))
        #expect(
            result.errors == [
                "p: the configuration cannot be read: it is a named pipe, and for 5.0 seconds nothing was written into it"
            ]
        )
    }
}
