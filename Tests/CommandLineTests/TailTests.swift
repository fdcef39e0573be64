import BridgePlatform
import JSONText
import Testing

@Suite("supervisor tail", .serialized, .timeLimit(.minutes(5)))
struct TailTests {
    private func text(_ node: JSONNode?) -> String? {
        if case .string(let text)? = node?.value { text } else { nil }
    }

    private func number(_ node: JSONNode?) -> Int? {
        if case .unsigned(let number)? = node?.value { Int(number) } else { nil }
    }

    private func publish(_ number: Int, _ text: String = "t", in workspace: Workspace) async throws {
        let program = workspace.start(
            "publish",
            "--control",
            "run/s",
            "--within",
            "4m",
            "WorkRequested",
            #"{"number": \#(number), "text": "\#(text)"}"#
        )
        let result = try await program.result()
        #expect(result.status == .exited(code: 0), "\(result.errors)")
    }

    /// Waits until a tail is attached that was just started.
    private func isFollowed(_ bridge: RunningProgram) async throws {
        _ = try #require(await bridge.line(with: "\"supervisor tail\""))
    }

    @Test(
        "prints what the run itself prints, in both formats, and ends on SIGTERM with 0",
        arguments: ["text", "json"]
    )
    func sameLines(format: String) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let bridge = workspace.start("run", "bridge.json5", "--format", format)
        _ = try #require(await bridge.line(with: "is ready"))
        let tail = workspace.start("tail", "--control", "run/s", "--format", format)
        try await isFollowed(bridge)
        try await publish(7, in: workspace)
        _ = try #require(await tail.line(with: "WorkDone"))
        tail.terminate()
        let followed = try await tail.result()
        bridge.terminate()
        let run = try await bridge.result()
        #expect(followed.status == .exited(code: 0))
        #expect(followed.errors.isEmpty, "\(followed.errors)")
        #expect(followed.output.count == 2)
        // Columns are as wide as the names so far, and a run knows some names beforehand.
        func words(_ lines: [String]) -> [[Substring]] { lines.map { $0.split(separator: " ") } }
        #expect(words(followed.output) == words(run.output))
    }

    @Test("shows the events and reports that were named, of the worker that was named")
    func filters() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge(workers: ["a", "b"]))
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "\"a\" is ready"))
        _ = try #require(await bridge.line(with: "\"b\" is ready"))
        let named = workspace.start(
            "tail",
            "--control",
            "run/s",
            "--events",
            "WorkDone,ClientAttached",
            "--format",
            "json"
        )
        try await isFollowed(bridge)
        let ofB = workspace.start("tail", "--control", "run/s", "--from", "b", "--format", "json")
        _ = try #require(await bridge.line(with: "client-2"))
        _ = try #require(await named.line(with: "client-2"))
        try await publish(7, in: workspace)
        _ = try #require(await ofB.line(with: "WorkDone"))
        _ = try #require(await named.line { $0.contains("WorkDone") && $0.contains("\"source\":\"a\"") })
        _ = try #require(await named.line { $0.contains("WorkDone") && $0.contains("\"source\":\"b\"") })
        for tail in [named, ofB] { tail.terminate() }
        let namedEvents = try await named.result().output.map { try JSONReader().read($0) }
        let eventsOfB = try await ofB.result().output.map { try JSONReader().read($0) }
        bridge.terminate()
        _ = try await bridge.result()
        #expect(Set(namedEvents.map { text($0["type"]) }) == ["WorkDone", "ClientAttached"])
        #expect(namedEvents.count { text($0["type"]) == "WorkDone" } == 2)
        #expect(eventsOfB.map { text($0["source"]) } == ["b"])
    }

    @Test(
        "a reader that stands still, or a stopped tail, finds gaps that count to the last event, and slows nothing",
        arguments: ["hold", "stop"]
    )
    func gaps(how: String) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge("flood"))
        let bridge = workspace.start("run", "bridge.json5", readsOutput: false)
        _ = try #require(await bridge.line(with: "is ready"))
        // A second tail that keeps up shows how far the worker has come; at a terminal its lines are short.
        let witness = try workspace.startAtTerminal("tail", "--control", "run/s", "--events", "WorkDone", columns: 120)
        _ = try #require(await bridge.line(with: "client-1 \"supervisor tail\""))
        let tail = try workspace.startAtTerminal(
            "tail",
            "--control",
            "run/s",
            "--events",
            "WorkDone",
            columns: 120,
            environment: ["NO_COLOR": "1"]
        )
        _ = try #require(await bridge.line(with: "client-2 \"supervisor tail\""))
        if how == "hold" {
            tail.hold(true)
        } else {
            tail.type("\\u001a")
            _ = try #require(await tail.line { $0 == "stopped" })
        }
        // A stopped tail takes in less than one that only cannot print, so fewer events make gaps. The host lets a
        // client go that says nothing for 30 seconds, and under a sanitizer 6,000 events could take that long.
        let count = how == "hold" ? 6_000 : 2_500
        // The program ends with 0 only when the worker's handler has returned: the slow tail has not held it up.
        try await publish(count, String(repeating: "x", count: 3_000), in: workspace)
        // The markers follow them on the worker's link. A slow client has gaps, so the witness may miss the first.
        var markers = 0
        repeat {
            markers += 1
            try await publish(1, "marker", in: workspace)
        } while !witness.lines.contains(where: { $0.contains("marker") })
        if how == "hold" { tail.hold(false) } else { tail.foreground() }
        try await publish(1, "last", in: workspace)
        _ = try #require(await tail.line { $0.contains("WorkDone") && $0.contains("last") })
        tail.type("\\u0003")
        #expect(await tail.line { $0.hasPrefix("ended ") } == "ended 0")
        let lines = tail.lines
        let gaps = lines.compactMap { line -> Int? in
            // For a single missing event the line uses the singular.
            guard line.hasPrefix("("), line.contains(" WorkDone "),
                line.contains(" missing here: they came faster than they were read)")
            else { return nil }
            return Int(line.dropFirst().prefix { $0.isNumber })
        }
        #expect(!gaps.isEmpty)
        let shown = lines.count { $0.contains(" → ") && $0.contains("WorkDone") }
        #expect(shown + gaps.reduce(0, +) == count + markers + 1, "\(shown) shown, \(gaps)")
        _ = try await tail.result()
        witness.type("\\u0003")
        #expect(await witness.line { $0.hasPrefix("ended ") } == "ended 0")
        _ = try await witness.result()
        bridge.terminate()
        #expect(try await bridge.result().status == .exited(code: 0))
    }

    @Test("a supervisor that is followed and traced to its end ends with 0, and the last report is seen")
    func shutdownFollowed() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"))
        let tail = workspace.start("tail", "--control", "run/s", "--events", "WorkerExited,WorkDone")
        _ = try #require(await bridge.line(with: "client-1 \"supervisor tail\""))
        let trace = workspace.start("trace", "--control", "run/s", "--for", "4m", "--output", "trace.json")
        _ = try #require(await bridge.line(with: "client-2 \"supervisor trace\""))
        try await publish(3, in: workspace)
        bridge.terminate()
        let result = try await bridge.result()
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        #expect(!result.errors.contains("dropped"))
        #expect(await tail.line(with: "WorkerExited") != nil)
        tail.terminate()
        #expect(try await tail.result().status == .exited(code: 0))
        // The program reports that the supervisor has gone, and has written the spans that came.
        #expect(try await trace.result().status == .exited(code: 69))
    }

    @Test("F11: ends with 0 when its reader goes away, though no event comes any more")
    func readerGone() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"))
        let program = try SupervisorProgram.products() + "/supervisor"
        let pipeline = RunningProgram(
            ["-c", "'\(program)' tail --control run/s --format json | head -n 2; echo \"ended ${PIPESTATUS[0]}\" >&2"],
            of: "/bin/bash",
            in: workspace.path
        )
        try await isFollowed(bridge)
        try await publish(7, in: workspace)
        #expect(await pipeline.line { $0.hasPrefix("ended ") } == "ended 0")
        let result = try await pipeline.result()
        #expect(result.output.count == 2)
        #expect(result.errors == ["ended 0"])
        bridge.terminate()
        #expect(try await bridge.result().status == .exited(code: 0))
    }

    @Test(
        "waits for a supervisor that has gone, follows the next one, and says what may be missing",
        arguments: ["text", "json"]
    )
    func reattached(format: String) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let first = workspace.start("run", "bridge.json5")
        _ = try #require(await first.line(with: "is ready"))
        let tail = workspace.start("tail", "--control", "run/s", "--format", format)
        try await isFollowed(first)
        try await publish(1, in: workspace)
        _ = try #require(await tail.line(with: "WorkDone"))
        first.terminate()
        _ = try await first.result()
        _ = try #require(await tail.line(with: "; attaching again"))
        let second = workspace.start("run", "bridge.json5")
        _ = try #require(await second.line(with: "is ready"))
        let back = try #require(await tail.line(with: "attached again after "))
        #expect(back.contains("to a supervisor that was started meanwhile: events of the time between are missing"))
        try await publish(2, in: workspace)
        _ = try #require(await tail.line { $0.contains("WorkDone") && $0.contains("\"number\":2") })
        tail.terminate()
        let result = try await tail.result()
        second.terminate()
        _ = try await second.result()
        #expect(result.status == .exited(code: 0))
        #expect(result.output.count == 5, "\(result.output)")
        let gap =
            format == "json"
            ? #"{"bridge":"gap","count":null,"reason":"away"}"#
            : "(events may be missing here: there was no link to the supervisor)"
        #expect(result.output.dropFirst(2).first == gap)
    }

    @Test("says that no supervisor serves the socket, and what is wrong with the names of events")
    func mistakes() async throws {
        let workspace = try Workspace()
        let alone = try await workspace.run("tail", "--control", "run/s")
        #expect(alone.status == .exited(code: 69))
        #expect(
            alone.errors.first?.hasSuffix("is a supervisor running, with --control run/s or `control` set?") == true
        )
        let empty = try await workspace.run("tail", "--events", "A,,B")
        #expect(empty.status == .exited(code: 64))
        #expect(
            empty.errors.first
                == """
                supervisor: found a name of 0 bytes among the events "A,,B", expected names of 1 to 256 \
                bytes, with commas between them
                """
        )
    }
}
