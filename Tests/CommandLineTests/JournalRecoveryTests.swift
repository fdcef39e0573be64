import BridgePlatform
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `supervisor run` with a journal, killed under load and started again.
@Suite("supervisor run takes up what a killed one owed")
struct JournalRecoveryTests {
    /// Writes down number and attempt of each event before it acknowledges the event.
    private static let worker = #"""
        #!/usr/bin/env bash
        set -euo pipefail
        link=$EVENT_BRIDGE_FD
        say() { printf '%s\n' "$1" >&"$link"; }
        echo $$ >> pids
        say "{\"bridge\":\"hello\",\"cookie\":\"$EVENT_BRIDGE_COOKIE\",\"wants\":[\"WorkRequested\"]}"
        say '{"bridge":"ready"}'
        while IFS= read -r line <&"$link"; do
            case $line in
                '{"bridge":"drain"'*)
                    say '{"bridge":"goodbye","reason":"shutdown"}'
                    exit 0
                    ;;
                '{"bridge":'*) ;;
                *)
                    [[ $line =~ \"sequence\":([0-9]+),\"attempt\":([0-9]+).*\"number\":([0-9]+) ]]
                    echo "${BASH_REMATCH[3]} ${BASH_REMATCH[2]}" >> "handled-$EVENT_BRIDGE_NAME"
                    say "{\"bridge\":\"ack\",\"sequence\":${BASH_REMATCH[1]}}"
                    ;;
            esac
        done
        """#

    private static func configuration(_ program: String) -> String {
        let workers = ["a", "b"].map { name in
            """
            { name: "\(name)", executable: "\(program)", subscribes: ["WorkRequested"],
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
            """
        }
        return """
            { journal: { directory: "kept", events: ["WorkRequested"] }, workers: [
            \(workers.joined(separator: "\n"))
            ] }
            """
    }

    private static func work(_ numbers: Range<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    /// The numbers and attempts that a worker has written down.
    private static func handled(by worker: String, in workspace: Workspace) throws -> [(number: Int, attempt: Int)] {
        let text = try String(contentsOfFile: "\(workspace.path)/handled-\(worker)", encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ").compactMap { Int($0) }
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
    }

    private static func recorded(in workspace: Workspace) async throws -> Int {
        let verdict = try await workspace.run("journal", "verify", "kept")
        #expect(verdict.status == .exited(code: 0), "\(verdict.output)")
        let shown = try await workspace.run("journal", "show", "kept", "--limit", "100000", "--json")
        return shown.output.count { $0.contains("\"type\":\"WorkRequested\"") }
    }

    /// Returns when all workers that ever ran are gone.
    private static func workersAreGone(_ workspace: Workspace) async throws {
        let text = try String(contentsOfFile: "\(workspace.path)/pids", encoding: .utf8)
        for process in text.split(separator: "\n").compactMap({ pid_t($0) }) {
            while kill(process, 0) == 0 { await Task.yield() }
        }
    }

    @Test(
        "J1, J2: killed under load, no event is lost or overtaken at any worker, and each repeat is marked",
        .timeLimit(.minutes(10))
    )
    func killed() async throws {
        let workspace = try Workspace()
        let program = try workspace.program("worker", Self.worker)
        try workspace.write("bridge.json5", Self.configuration(program))
        var last = 0
        for round in 1...4 {
            let shown = last + 100 * round
            try workspace.write("in.jsonl", Self.work(last + 1..<last + 3_000))
            let result = try await workspace.run(
                "run",
                "bridge.json5",
                "--input",
                "in.jsonl",
                onOutput: { program, line in
                    if line.contains("WorkRequested"), line.contains("\"t\(shown)\"") { program.kill() }
                }
            )
            #expect(result.status == .signaled(signal: SIGKILL, coreDumped: false), "\(result.errors)")
            try await Self.workersAreGone(workspace)
            last = try await Self.recorded(in: workspace)
            #expect(last >= shown - 1)
        }
        let result = try await workspace.run("run", "bridge.json5", "--input", "/dev/null", "--exit-when-idle")
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        for worker in ["a", "b"] {
            var seen: Set<Int> = []
            var newest = 0
            for (number, attempt) in try Self.handled(by: worker, in: workspace) {
                guard seen.insert(number).inserted else {
                    #expect(attempt > 1, "\(worker) got \(number) again, unmarked")
                    continue
                }
                #expect(number == newest + 1, "\(worker) got \(number) behind \(newest)")
                newest = number
            }
            #expect(newest == last, "\(worker)")
            // The kills came while events were owed.
            #expect(try Self.handled(by: worker, in: workspace).contains { $0.attempt > 1 })
        }
        // All is settled: another start delivers nothing.
        let before = try Self.handled(by: "a", in: workspace).count
        let again = try await workspace.run("run", "bridge.json5", "--input", "/dev/null", "--exit-when-idle")
        #expect(again.status == .exited(code: 0), "\(again.errors)")
        #expect(try Self.handled(by: "a", in: workspace).count == before)
    }
}
