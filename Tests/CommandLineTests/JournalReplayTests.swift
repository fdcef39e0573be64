import BridgePlatform
import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `supervisor journal replay`, with a supervisor that runs and workers that speak lines.
@Suite("supervisor journal replay", .serialized)
struct JournalReplayTests {
    /// Writes down number, attempt and mark of each event before it acknowledges the event.
    ///
    /// At the replayed event that `deadly` names the worker kills itself, once; at the one that `gated` names it waits
    /// for a line from the pipe `gate`.
    private static let worker = #"""
        #!/usr/bin/env bash
        set -euo pipefail
        link=$EVENT_BRIDGE_FD
        say() { printf '%s\n' "$1" >&"$link"; }
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
                    mark=live
                    [[ $line != *\"replay\":true* ]] || mark=replay
                    [[ $line =~ \"sequence\":([0-9]+),\"attempt\":([0-9]+).*\"number\":([0-9]+) ]]
                    sequence=${BASH_REMATCH[1]} number=${BASH_REMATCH[3]}
                    echo "$number ${BASH_REMATCH[2]} $mark" >> "handled-$EVENT_BRIDGE_NAME"
                    if [[ $mark == replay && -e deadly && $(< deadly) == "$number" ]]; then
                        rm deadly
                        kill -9 $$
                    fi
                    if [[ $mark == replay && -e gated && $(< gated) == "$number" ]]; then
                        rm gated
                        read -r _ < gate
                    fi
                    say "{\"bridge\":\"ack\",\"sequence\":$sequence}"
                    ;;
            esac
        done
        """#

    /// An event as a worker has written it down.
    private struct Handled: Equatable {
        let number: Int
        let attempt: Int
        let isReplay: Bool
    }

    private static func configuration(_ program: String, journal: Bool = true) -> String {
        let workers = ["a", "b"].map { name in
            """
            { name: "\(name)", executable: "\(program)", subscribes: ["WorkRequested"], backoff: { initial: "1ms" },
              handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" } },
            """
        }
        let kept = journal ? #"journal: { directory: "kept", events: ["WorkRequested"] },"# : ""
        return "{ control: \"run/s\", \(kept) workers: [\n\(workers.joined(separator: "\n"))\n] }"
    }

    private static func work(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    private static func handled(by worker: String, in workspace: Workspace) -> [Handled] {
        let text = (try? String(contentsOfFile: "\(workspace.path)/handled-\(worker)", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ")
            guard parts.count == 3, let number = Int(parts[0]), let attempt = Int(parts[1]) else { return nil }
            return Handled(number: number, attempt: attempt, isReplay: parts[2] == "replay")
        }
    }

    /// Runs `body` with a supervisor whose workers have handled the events 1 to `count`.
    private func withSupervisor(_ count: Int, _ body: (Workspace) async throws -> Void) async throws {
        let workspace = try Workspace()
        let program = try workspace.program("worker", Self.worker)
        try workspace.write("bridge.json5", Self.configuration(program))
        try workspace.write("in.jsonl", Self.work(1...count))
        let run = workspace.start("run", "bridge.json5", "--input", "in.jsonl")
        for worker in ["a", "b"] {
            while Self.handled(by: worker, in: workspace).count < count {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        try await body(workspace)
        run.terminate()
        #expect(try await run.result().status == .exited(code: 0))
    }

    @Test(
        "one worker gets the events again, marked and in order, and the rest after it was killed in the middle",
        .timeLimit(.minutes(5))
    )
    func killed() async throws {
        try await withSupervisor(300) { workspace in
            try workspace.write("deadly", "150")
            let replay = try await workspace.run("journal", "replay", "kept", "--to", "a", "--control", "run/s")
            #expect(replay.status == .exited(code: 0), "\(replay.errors)")
            #expect(replay.output == ["a has handled 300 events again"])
            let all = Self.handled(by: "a", in: workspace)
            #expect(all.prefix(300).map(\.number) == Array(1...300) && all.prefix(300).allSatisfy { !$0.isReplay })
            let again = all.dropFirst(300)
            #expect(again.allSatisfy { $0.isReplay && $0.attempt >= 2 })
            var newest = 0
            for event in again {
                if event.number <= newest {
                    #expect(event.attempt >= 3, "\(event.number) came again, unmarked")
                } else {
                    #expect(event.number == newest + 1)
                    newest = event.number
                }
            }
            #expect(newest == 300 && again.count > 300)
            #expect(Self.handled(by: "b", in: workspace).count == 300)
            let verdict = try await workspace.run("journal", "verify", "kept")
            #expect(verdict.output == ["300 events in 1 segment; everything can be read"])
        }
    }

    @Test("live events pass a replay, and ending the command ends it after one batch", .timeLimit(.minutes(5)))
    func ended() async throws {
        try await withSupervisor(300) { workspace in
            try #require(mkfifo("\(workspace.path)/gate", 0o600) == 0)
            try workspace.write("gated", "100")
            let replay = workspace.start("journal", "replay", "kept", "--to", "a", "--control", "run/s")
            while Self.handled(by: "a", in: workspace).count < 400 {
                try Task.checkCancellation()
                await Task.yield()
            }
            // It waits at event 100, the 36th of the second batch of 64, for which the command waits. The host may be
            // putting in the events behind it: it stops when it sees that the command is gone.
            replay.kill()
            _ = try await replay.result()
            while try await workspace.run("status", "--json", "--control", "run/s").output.contains(where: {
                $0.contains("supervisor journal")
            }) { try Task.checkCancellation() }
            async let live = workspace.run(
                "publish",
                "WorkRequested",
                #"{"number":301,"text":""}"#,
                "--control",
                "run/s"
            )
            try workspace.write("gate", "\n")
            #expect(try await live.status == .exited(code: 0))
            let all = Self.handled(by: "a", in: workspace).dropFirst(300)
            let last = all.count { $0.isReplay }
            #expect((100...128).contains(last))
            #expect(all.filter(\.isReplay).map(\.number) == Array(1...last))
            #expect(all.last == Handled(number: 301, attempt: 1, isReplay: false))
            // Another replay goes on where that one has ended; what was recorded meanwhile is in the journal, too.
            let rest = try await workspace.run(
                "journal",
                "replay",
                "kept",
                "--to",
                "a",
                "--after",
                "\(last)",
                "--json",
                "--control",
                "run/s"
            )
            #expect(rest.output == [#"{"handled":\#(301 - last),"refused":0,"unwanted":0,"missing":0,"last":301}"#])
            let numbers = Self.handled(by: "a", in: workspace).dropFirst(300 + all.count).map(\.number)
            #expect(Array(numbers) == Array((last + 1)...301))
        }
    }

    @Test("a segment without a head is named once, however many events of it are replayed", .timeLimit(.minutes(5)))
    func headless() async throws {
        let workspace = try Workspace()
        let program = try workspace.program("worker", Self.worker)
        try workspace.write("bridge.json5", Self.configuration(program))
        // Each run begins a segment.
        for numbers in [1...4_200, 4_201...4_201] {
            try workspace.write("in.jsonl", Self.work(numbers))
            let run = try await workspace.run("run", "bridge.json5", "--input", "in.jsonl", "--exit-when-idle")
            #expect(run.status == .exited(code: 0), "\(run.errors)")
        }
        let segment = URL(fileURLWithPath: "\(workspace.path)/kept/00000000000000000001.segment")
        let handle = try FileHandle(forWritingTo: segment)
        try handle.write(contentsOf: Data(repeating: 0xEE, count: 72))
        try handle.close()

        try workspace.write("other.json5", Self.configuration(program, journal: false))
        let other = workspace.start("run", "other.json5")
        #expect(await other.line(with: "worker \"a\" is ready (process") != nil)
        let replay = try await workspace.run("journal", "replay", "kept", "--to", "a", "--control", "run/s")
        #expect(replay.status == .exited(code: 65), "\(replay.errors)")
        #expect(replay.output.count == 2 && replay.output[0].hasPrefix("(events may be missing: 00000000000000000001"))
        #expect(replay.output.last == "a has handled 4201 events again; events are missing at 1 place")
        #expect(Self.handled(by: "a", in: workspace).filter(\.isReplay).map(\.number) == Array(1...4_201))
        other.terminate()
        #expect(try await other.result().status == .exited(code: 0))
    }

    @Test("a damaged place is named, and what lies behind it is replayed", .timeLimit(.minutes(5)))
    func damaged() async throws {
        let workspace = try Workspace()
        let program = try workspace.program("worker", Self.worker)
        try workspace.write("bridge.json5", Self.configuration(program))
        try workspace.write("in.jsonl", Self.work(1...50))
        let run = try await workspace.run("run", "bridge.json5", "--input", "in.jsonl", "--exit-when-idle")
        #expect(run.status == .exited(code: 0), "\(run.errors)")
        let file = try #require(
            try FileManager.default.contentsOfDirectory(atPath: "\(workspace.path)/kept").first {
                $0.hasSuffix(".segment")
            }
        )
        var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(workspace.path)/kept/\(file)"))
        let place = try #require(bytes.range(of: Data("dtextct25".utf8)))
        bytes[place.lowerBound] ^= 0xFF
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(workspace.path)/kept/\(file)"))
        try handle.write(contentsOf: bytes)
        try handle.close()

        try workspace.write("other.json5", Self.configuration(program, journal: false))
        let other = workspace.start("run", "other.json5")
        #expect(await other.line(with: "worker \"a\" is ready (process") != nil)
        let replay = try await workspace.run("journal", "replay", "kept", "--to", "a", "--control", "run/s")
        #expect(replay.status == .exited(code: 65), "\(replay.errors)")
        #expect(replay.output.count == 2 && replay.output[0].contains("the event at position 25 is missing"))
        #expect(replay.output.last == "a has handled 49 events again; events are missing at 1 place")
        #expect(
            Self.handled(by: "a", in: workspace).filter(\.isReplay).map(\.number) == Array(1...24) + Array(26...50)
        )
        let unknown = try await workspace.run("journal", "replay", "kept", "--to", "c", "--control", "run/s")
        #expect(unknown.status == .exited(code: 64))
        other.terminate()
        #expect(try await other.result().status == .exited(code: 0))
    }
}
