import BridgePlatform
import Foundation
import JSONText
import Testing

/// The workers of `Fixtures` that are written in other languages.
@Suite("Workers in other languages", .timeLimit(.minutes(5)))
struct PolyglotTests {
    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures").path

    private func text(_ node: JSONNode?) -> String? {
        if case .string(let text)? = node?.value { text } else { nil }
    }

    @Test("the sample with workers in Python and bash runs to its end")
    func sample() async throws {
        let workspace = try Workspace()
        let result = try await workspace.run(
            "run",
            "\(Self.fixtures)/polyglot.json",
            "--input",
            "\(Self.fixtures)/polyglot.jsonl",
            "--exit-when-idle",
            "--format",
            "json"
        )
        #expect(result.status == .exited(code: 0))
        #expect(
            result.errors.contains {
                $0.hasSuffix("polyglot.jsonl:4: counter refused TextReceived: text: expected a text")
            },
            "\(result.errors)"
        )
        let events = try result.output.map { try JSONReader().read($0) }
        let counted = events.filter { text($0["type"]) == "WordsCounted" }
        #expect(counted.map { $0["data"]?["words"]?.value } == [.unsigned(3), .unsigned(7), .unsigned(0)])
        #expect(text(counted.dropFirst().first?["data"]?["text"]) == #"it was a "dark" and stormy night"#)
        let listed = events.filter { text($0["type"]) == "TextListed" }
        #expect(listed.map { $0["data"]?["place"]?.value } == [.unsigned(1), .unsigned(2), .unsigned(3)])
        #expect(listed.map { $0["causationid"]?.value } == counted.map { $0["id"]?.value })
        #expect(listed.allSatisfy { text($0["source"]) == "list" })
    }

    @Test("a worker with the official CloudEvents package reads and writes events as it does elsewhere")
    func cloudEvents() async throws {
        let workspace = try Workspace()
        guard try await install(in: workspace) else {
            CurrentProcess.report("not tested: the worker with the package cloudevents, as pip cannot install that")
            return
        }
        try workspace.write(
            "bridge.json5",
            """
            { workers: [
                { name: "counter", executable: "\(Self.fixtures)/python-worker/worker.py", subscribes: ["TextReceived"] },
                { name: "timer", executable: "\(workspace.path)/python/bin/python3",
                  arguments: ["\(Self.fixtures)/cloudevents-worker/worker.py"], subscribes: ["WordsCounted"] },
            ] }
            """
        )
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            "--exit-when-idle",
            "--format",
            "json",
            input: #"{"type": "TextReceived", "data": {"text": "call me Ishmael é"}}"# + "\n"
        )
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        let events = try result.output.map { try JSONReader().read($0) }
        let timed = try #require(events.last { text($0["type"]) == "ReadingTimed" })
        #expect(timed["data"]?["minutes"]?.value == .number(0.02))
        #expect(text(timed["data"]?["text"]) == "call me Ishmael é")
        #expect(timed["causationid"]?.value == events.first { text($0["type"]) == "WordsCounted" }?["id"]?.value)
    }

    @Test(
        "the page that says how to write a worker has the fixtures' own text",
        arguments: ["python-worker/worker.py", "shell-worker/worker.sh"]
    )
    func page(file: String) throws {
        let page = try Workspace.fixture("../docs/guide/workers-in-any-language.md")
        #expect(page.contains(try Workspace.fixture(file)))
    }

    /// Whether the package could be installed, in an environment of the workspace's own.
    private func install(in workspace: Workspace) async throws -> Bool {
        let requirements = "\(Self.fixtures)/cloudevents-worker/requirements.txt"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            python3 -m venv python && \
            exec timeout 120 python/bin/pip install --quiet --retries 1 --timeout 10 --requirement "$0"
            """,
            requirements,
        ]
        process.currentDirectoryURL = URL(fileURLWithPath: workspace.path)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus == 0) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }
}
