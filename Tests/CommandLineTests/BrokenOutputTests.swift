import BridgePlatform
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Rows F11 and N15: output cannot be written, and the run goes on.
@Suite("supervisor run, where its output goes nowhere", .serialized, .timeLimit(.minutes(5)))
struct BrokenOutputTests {
    private static let full = "/dev/full"

    private static func work(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    /// Runs a worker over some input through a shell, which changes descriptors and limits.
    private func run(
        _ redirections: String,
        before: String = "",
        events: Int = 20,
        in workspace: Workspace
    ) async throws -> SupervisorProgram.Result {
        try workspace.write("bridge.json5", Workspace.bridge())
        try workspace.write("in.jsonl", Self.work(1...events))
        let program = try SupervisorProgram.products() + "/supervisor"
        let command = "\(before) exec '\(program)' run bridge.json5 --input in.jsonl --exit-when-idle --format json"
        return try await SupervisorProgram.run(
            ["-c", "\(command) \(redirections)"],
            of: "/bin/sh",
            in: workspace.path
        )
    }

    private func isThere(_ path: String, for row: String) -> Bool {
        if OperatingSystem.fileExists(path) { return true }
        CurrentProcess.report("not tested: \(row), as there is no \(path)")
        return false
    }

    @Test("F11, N15: standard output's reader is gone: the run goes on, and says nothing of it")
    func readerGone() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            "--exit-when-idle",
            input: Self.work(1...200),
            readsOutput: false
        )
        #expect(result.status == .exited(code: 0))
        #expect(!result.errors.contains { $0.contains("standard output") }, "\(result.errors)")
    }

    @Test(
        "N15: standard output is a full disk: the run goes on, says so once, how much was not printed, and in its status"
    )
    func fullOutput() async throws {
        guard isThere(Self.full, for: "N15, a full disk under the output") else { return }
        let workspace = try Workspace()
        let result = try await run("> \(Self.full)", in: workspace)
        #expect(result.status == .exited(code: 74))
        let said = result.errors.filter { $0.contains("standard output: No space left on device") }
        #expect(said.count == 1, "\(result.errors)")
        #expect(said.first?.contains("events are not printed until there is room") == true)
        #expect(result.errors.contains { $0.contains("40 events were not printed") }, "\(result.errors)")
    }

    @Test(
        "N15: standard output may not grow any more: no signal ends the run, and what was printed are whole lines but for one"
    )
    func limitedOutput() async throws {
        if CurrentProcess.environment("TSAN_OPTIONS") != nil {
            CurrentProcess.report("not tested: N15, a limit for files, which the thread sanitizer needs itself")
            return
        }
        let workspace = try Workspace()
        // Blocks of 512 bytes, or of 1,024 in some shells. The limit also holds for the worker's shared outbox, which
        // needs less.
        let result = try await run("> out.jsonl", before: "ulimit -f 40960;", events: 20, in: workspace)
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        let limited = try await run("> out.jsonl", before: "ulimit -f 8;", events: 200, in: workspace)
        #expect(limited.status == .exited(code: 74), "\(limited.errors)")
        #expect(limited.errors.contains { $0.contains("standard output: File too large") }, "\(limited.errors)")
        let text = try String(contentsOfFile: workspace.path + "/out.jsonl", encoding: .utf8)
        let lines = text.split(separator: "\n")
        #expect(lines.count > 5)
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
    }

    @Test("N15: standard output cannot be written at all: the run says how much was not printed, and in its status")
    func unwritableOutput() async throws {
        let workspace = try Workspace()
        let result = try await run("1< /dev/null", in: workspace)
        #expect(result.status == .exited(code: 74))
        #expect(result.errors.contains { $0.contains("events are not printed any more") }, "\(result.errors)")
        #expect(result.errors.contains { $0.contains("40 events were not printed") }, "\(result.errors)")
    }

    @Test("N15: an answer that a full disk does not take ends with status 74; a reader that has gone is no failure")
    func fullAnswers() async throws {
        guard isThere(Self.full, for: "N15, a full disk under an answer") else { return }
        let workspace = try Workspace()
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let program = try SupervisorProgram.products() + "/supervisor"
        for words in [
            "metrics --control run/s", "status --control run/s", "check bridge.json5", "graph bridge.json5",
            "completion bash", "help",
        ] {
            let result = try await SupervisorProgram.run(
                ["-c", "exec '\(program)' \(words) > \(Self.full)"],
                of: "/bin/sh",
                in: workspace.path
            )
            #expect(result.status == .exited(code: 74), "\(words)")
            #expect(result.errors == ["supervisor: standard output: No space left on device"], "\(words)")
        }
        let unread = try await workspace.run("status", "--control", "run/s", readsOutput: false)
        #expect(unread.status == .exited(code: 0) && unread.errors.isEmpty, "\(unread.errors)")
        _ = try await supervisor.terminate()
    }

    @Test("N15: a watch that cannot write its output says so once, and ends with status 74", arguments: [true, false])
    func watchWithoutOutput(isFull: Bool) async throws {
        guard !isFull || isThere(Self.full, for: "N15, a full disk under a watch") else { return }
        let workspace = try Workspace()
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let program = try SupervisorProgram.products() + "/supervisor"
        let redirection = isFull ? "> \(Self.full)" : "1< /dev/null"
        let result = try await SupervisorProgram.run(
            ["-c", "exec '\(program)' status --watch --control run/s \(redirection)"],
            of: "/bin/sh",
            in: workspace.path
        )
        #expect(result.status == .exited(code: 74))
        let reason = isFull ? "No space left on device" : "Bad file descriptor"
        #expect(result.errors == ["supervisor: standard output: \(reason)"])
        _ = try await supervisor.terminate()
    }

    @Test("the second signal ends a watch whose outputs are one pipe that takes nothing")
    func stalledWatch() async throws {
        let workspace = try Workspace()
        let supervisor = try await RunningSupervisor.start(["store"], in: workspace)
        let program = try SupervisorProgram.products() + "/supervisor"
        // A pipe holds 64 KiB, and the reader of this pipe reads nothing from it until the end.
        let script = """
            mkfifo end; exec 3>&2
            { head -c 65536 /dev/zero; '\(program)' status --watch --control run/s 2>&1 & echo "watch $!" >&3
              wait $!; echo "ended $?" >&3; echo > end; } | read line < end
            """
        let shell = RunningProgram(["-c", script], of: "/bin/sh", in: workspace.path)
        let started = try #require(await shell.line { $0.hasPrefix("watch ") })
        let watch = try #require(pid_t(started.dropFirst("watch ".count)))
        await supervisor.errors.wait { $0.contains { $0.contains("\"supervisor status\"") } }
        // Then there is output on standard error, too: the watch says so before it is attached again.
        _ = try await supervisor.terminate()
        let next = try await RunningSupervisor.start(["store"], in: workspace)
        await next.errors.wait { $0.contains { $0.contains("\"supervisor status\"") } }
        kill(watch, SIGTERM)
        // At the first signal the watch says goodbye, and then waits for the reader.
        await next.errors.wait { $0.contains { $0.contains("\"supervisor status\" said goodbye") } }
        // A signal that comes earlier counts as part of the first.
        try? await Task.sleep(for: .milliseconds(150))
        kill(watch, SIGTERM)
        let ended = await shell.line { $0.hasPrefix("ended ") }
        #expect(ended == "ended 0")
        if ended == nil { kill(watch, SIGKILL) }
        _ = try await shell.result()
        _ = try await next.terminate()
    }

    @Test(
        "N15: standard error is closed, full, or has no reader: the run goes on",
        arguments: ["2>&-", "2> /dev/full", "2>&1 >&3 | true"]
    )
    func noDiagnostics(redirection: String) async throws {
        guard isThere(Self.full, for: "N15, a full disk under standard error") else { return }
        let workspace = try Workspace()
        let isPiped = redirection.contains("|")
        try workspace.write("bridge.json5", Workspace.bridge())
        try workspace.write("in.jsonl", Self.work(1...20))
        let program = try SupervisorProgram.products() + "/supervisor"
        let call = "'\(program)' run bridge.json5 --input in.jsonl --exit-when-idle --format json"
        let result = try await SupervisorProgram.run(
            [
                "-c",
                isPiped ? "exec 3>&1; \(call) \(redirection); exit ${PIPESTATUS[0]}" : "exec \(call) \(redirection)",
            ],
            of: "/bin/bash",
            in: workspace.path
        )
        #expect(result.status == .exited(code: 0))
        #expect(result.output.count == 40)
        #expect(result.errors.isEmpty)
    }

    @Test("no descriptor of the supervisor's own takes the place of a standard stream that is closed at its start")
    func closedStreams() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let program = try SupervisorProgram.products() + "/supervisor"
        let bridge = RunningProgram(
            ["-c", "'\(program)' run bridge.json5 <&- >&- 2>&- & echo started $!; wait $!; echo ended $?"],
            of: "/bin/sh",
            in: workspace.path
        )
        let started = try #require(await bridge.line(with: "started "))
        let pid = try #require(pid_t(started.dropFirst("started ".count)))
        // No output says that it is ready, so ask until it answers.
        var published: SupervisorProgram.Result?
        repeat {
            published = try await workspace.run(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": 1, "text": "t"}"#
            )
        } while published?.status == .exited(code: 69)
        #expect(published?.status == .exited(code: 0))
        if isThere("/proc/\(pid)/fd", for: "what descriptors 0, 1 and 2 lead to") {
            for number in 0...2 {
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\(number)")
                #expect(target == "/dev/null", "descriptor \(number)")
            }
        }
        kill(pid, SIGTERM)
        #expect(await bridge.line(with: "ended ") == "ended 0")
        _ = try await bridge.result()
    }

    private func publishEvent(in workspace: Workspace) async throws {
        let event = #"{"number": 1, "text": "t"}"#
        let published = try await workspace.run("publish", "--control", "run/s", "WorkRequested", event)
        #expect(published.status == .exited(code: 0), "\(published.errors)")
    }

    @Test("a tail that cannot write its output says so, and ends with status 74")
    func tailWithoutOutput() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"), "\(bridge.lines)")
        let program = try SupervisorProgram.products() + "/supervisor"
        // A descriptor that is open for reading only.
        async let tail = SupervisorProgram.run(
            ["-c", "exec '\(program)' tail --control run/s 1</dev/null"],
            of: "/bin/sh",
            in: workspace.path
        )
        _ = try #require(await bridge.line(with: "has attached"), "\(bridge.lines)")
        try await publishEvent(in: workspace)
        let ended = try await tail
        #expect(ended.status == .exited(code: 74), "\(ended.errors)")
        #expect(ended.errors.contains { $0.contains("events are not printed: standard output: ") }, "\(ended.errors)")
        bridge.terminate()
        #expect(try await bridge.result().status == .exited(code: 0), "\(bridge.lines)")
    }

    @Test("N15: a tail on a full disk goes on, says so once, and ends with status 74")
    func tailOnFullDisk() async throws {
        guard isThere(Self.full, for: "N15, a full disk under a tail") else { return }
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"), "\(bridge.lines)")
        let program = try SupervisorProgram.products() + "/supervisor"
        let tail = RunningProgram(
            ["-c", "exec '\(program)' tail --control run/s > \(Self.full)"],
            of: "/bin/sh",
            in: workspace.path
        )
        _ = try #require(await bridge.line(with: "has attached"), "\(bridge.lines)")
        try await publishEvent(in: workspace)
        _ = try #require(await tail.line(with: "standard output: No space left on device"), "\(tail.lines)")
        tail.terminate()
        let ended = try await tail.result()
        #expect(ended.status == .exited(code: 74))
        #expect(ended.errors.count { $0.contains("events are not printed") } == 1, "\(ended.errors)")
        bridge.terminate()
        #expect(try await bridge.result().status == .exited(code: 0), "\(bridge.lines)")
    }

    @Test("N15: the disk under the control socket is full: the run goes on, and clients attach")
    func fullControlDirectory() async throws {
        let workspace = try Workspace()
        let disk = workspace.path + "/run"
        guard try await mount(at: disk, in: workspace) else {
            CurrentProcess.report("not tested: N15, a full disk under the control socket, as none can be mounted")
            return
        }
        do {
            try workspace.write("bridge.json5", Workspace.bridge())
            let bridge = workspace.start("run", "bridge.json5")
            _ = try #require(await bridge.line(with: "is ready"), "\(bridge.lines)")
            let published = try await workspace.run(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": 1, "text": "t"}"#
            )
            #expect(published.status == .exited(code: 0), "\(published.errors)")
            // The lock holds although no process number could be written into it.
            let second = try await workspace.run("run", "bridge.json5")
            #expect(second.status == .exited(code: 71), "\(second.errors)")
            bridge.terminate()
            #expect(try await bridge.result().status == .exited(code: 0))
        } catch {
            try await unmount(disk, in: workspace)
            throw error
        }
        try await unmount(disk, in: workspace)
    }

    /// A file system in memory without room for another byte.
    private func mount(at path: String, in workspace: Workspace) async throws -> Bool {
        let result = try await SupervisorProgram.run(
            [
                "-c",
                "mkdir -m 700 '\(path)' && mount -t tmpfs -o size=16k,mode=700 tmpfs '\(path)' && { cat /dev/zero > '\(path)/rest'; test -s '\(path)/rest'; }",
            ],
            of: "/bin/sh",
            in: workspace.path,
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
        )
        return result.status == .exited(code: 0)
    }

    private func unmount(_ path: String, in workspace: Workspace) async throws {
        _ = try await SupervisorProgram.run(
            ["-c", "umount -l '\(path)'"],
            of: "/bin/sh",
            in: workspace.path,
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
        )
    }
}
