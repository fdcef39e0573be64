import BridgePlatform
import Testing

/// Through a pseudo-terminal, as in a window.
@Suite("At a terminal", .serialized, .timeLimit(.minutes(5)))
struct TerminalTests {
    private static let escape = "\u{1B}["

    private func work(_ number: Int, _ text: String) -> String {
        #"{"type": "WorkRequested", "data": {"number": \#(number), "text": "\#(text)"}}"# + "\n"
    }

    /// The most columns that a line can take: characters beyond ASCII are wide, except for the arrow and the ellipsis.
    private func columns(_ line: String) -> Int {
        line.reduce(0) { $0 + ($1.isASCII || $1 == "→" || $1 == "…" ? 1 : 2) }
    }

    private func isEvent(_ line: String) -> Bool { line.contains(" → ") }

    @Test("B7: Ctrl-C reaches the supervisor only, which stops its workers in good order")
    func interrupt() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge(workers: ["a", "b"]))
        let bridge = try workspace.startAtTerminal("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "\"a\" is ready"))
        _ = try #require(await bridge.line(with: "\"b\" is ready"))
        bridge.type("\\u0003")
        #expect(await bridge.line(with: "ended") == "ended 0")
        // The screen may come behind the report of the end.
        _ = try await bridge.result()
        let ended = bridge.lines.filter { $0.contains("as it was asked to") }
        #expect(ended.count == 2, "\(bridge.lines)")
        #expect(ended.allSatisfy { $0.contains("exited with status 0") })
    }

    @Test("the second Ctrl-C escalates for a worker that has not finished by then")
    func interruptTwice() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge("hang-on:t1"))
        try workspace.write("in.jsonl", work(1, "t1"))
        let bridge = try workspace.startAtTerminal("run", "bridge.json5", "--input", "in.jsonl")
        _ = try #require(await bridge.line { $0.contains("WorkRequested") })
        bridge.type("\\u0003")
        _ = try #require(await bridge.line(with: "stopping: the workers finish what they have"))
        // Otherwise the second signal would be taken for an echo of the first.
        try await Task.sleep(for: .milliseconds(200))
        bridge.type("\\u0003")
        #expect(await bridge.line(with: "escalating: the workers are not waited for any more") != nil)
        #expect(await bridge.line { $0.hasPrefix("ended ") } == "ended 75")
        _ = try await bridge.result()
    }

    @Test("events are coloured, and with NO_COLOR they are not", arguments: [nil, "1"])
    func colour(noColour: String?) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        try workspace.write("in.jsonl", work(1, "t1"))
        let bridge = try workspace.startAtTerminal(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            "--exit-when-idle",
            environment: noColour.map { ["NO_COLOR": $0] } ?? [:]
        )
        let done = try #require(await bridge.line(with: "WorkDone"))
        #expect(done.contains(Self.escape) == (noColour == nil))
        #expect(await bridge.line { $0.hasPrefix("ended ") } == "ended 0")
        // The screen may come behind the report of the end.
        _ = try await bridge.result()
        if noColour != nil { #expect(!bridge.lines.contains { $0.contains(Self.escape) }) }
    }

    @Test(
        "in a narrow window no event takes a second line, whatever its letters",
        arguments: [(40, true), (71, false)]
    )
    func narrow(width: Int, isColoured: Bool) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let texts = ["日本語の長い文字列です日本語の長い文字列です", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦🇩🇪🇩🇪🇩🇪", String(repeating: "x", count: 5_000)]
        try workspace.write("in.jsonl", texts.enumerated().map { work($0.offset, $0.element) }.joined())
        let bridge = try workspace.startAtTerminal(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            "--exit-when-idle",
            columns: width,
            environment: isColoured ? [:] : ["NO_COLOR": "1"]
        )
        #expect(await bridge.line { $0.hasPrefix("ended ") } == "ended 0")
        // The screen may come behind the report of the end.
        _ = try await bridge.result()
        let styles = ["2", "32", "36", "1", "0"].map { "\(Self.escape)\($0)m" }
        let events = bridge.lines.filter(isEvent).map { line in styles.reduce(line) { $0.replacing($1, with: "") } }
        #expect(events.count == 2 * texts.count)
        #expect(events.allSatisfy { columns($0) <= width }, "\(events)")
        // Whole characters and whole escapes.
        #expect(!events.contains { $0.contains("\u{FFFD}") || $0.contains("\u{1B}") }, "\(events)")
        #expect(events.allSatisfy { $0.hasSuffix("…") }, "\(events)")
    }

    @Test("tail follows the window's width, and ends with Ctrl-C")
    func resized() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge())
        let bridge = workspace.start("run", "bridge.json5")
        _ = try #require(await bridge.line(with: "is ready"))
        let tail = try workspace.startAtTerminal(
            "tail",
            "--control",
            "run/s",
            columns: 100,
            environment: ["NO_COLOR": "1"]
        )
        _ = try #require(await bridge.line(with: "\"supervisor tail\""))
        let long = String(repeating: "日本", count: 60)
        func publish(_ number: Int) async throws {
            let published = workspace.start(
                "publish",
                "--control",
                "run/s",
                "WorkRequested",
                #"{"number": \#(number), "text": "\#(long)"}"#
            )
            #expect(try await published.result().status == .exited(code: 0))
        }
        // No time and no identity in a line has so many digits in a row.
        let (first, second) = (1_111_111_111, 2_222_222_222)
        try await publish(first)
        let wide = try #require(await tail.line { $0.contains("WorkDone") && $0.contains("\(first)") })
        #expect((99...100).contains(columns(wide)), "\(wide)")
        tail.resize(columns: 70)
        _ = try #require(await tail.line { $0 == "70 columns" })
        try await publish(second)
        let narrow = try #require(await tail.line { $0.contains("WorkDone") && $0.contains("\(second)") })
        #expect((69...70).contains(columns(narrow)), "\(narrow)")
        tail.type("\\u0003")
        #expect(await tail.line { $0.hasPrefix("ended ") } == "ended 0")
        _ = try await tail.result()
        bridge.terminate()
        #expect(try await bridge.result().status == .exited(code: 0))
    }

    @Test("events and diagnostics come in whole lines, however fast")
    func wholeLines() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Workspace.bridge("flood-stdout"))
        // Each event makes the worker print, which is shown on the same screen.
        try workspace.write("in.jsonl", (1...40).map { _ in work(100, "t") }.joined())
        let bridge = try workspace.startAtTerminal(
            "run",
            "bridge.json5",
            "--input",
            "in.jsonl",
            "--exit-when-idle",
            columns: 60,
            environment: ["NO_COLOR": "1"]
        )
        #expect(await bridge.line { $0.hasPrefix("ended ") } == "ended 0")
        // The screen may come behind the report of the end.
        _ = try await bridge.result()
        let torn = bridge.lines.filter { line in
            if line.hasPrefix("supervisor: ") || line == "started" || line.hasPrefix("ended ") { return false }
            if line.hasPrefix("[worker] ") { return !line.hasSuffix("more or less") }
            return !(isEvent(line) && (line.hasSuffix("}") || line.hasSuffix("…")) && columns(line) <= 60)
        }
        #expect(torn.isEmpty, "\(torn.prefix(5))")
        #expect(bridge.lines.count(where: isEvent) == 80)
        #expect(bridge.lines.contains { $0.hasPrefix("[worker] ") })
    }
}
