import BridgePlatform
import Testing

/// The program `bridge-benchmark`: the tests show that its works run, not how fast they are.
@Suite("The program bridge-benchmark", .serialized)
struct BenchmarkTests {
    /// The works that take only a few processes; W5 is left out, because its measurement takes too long for a test.
    private static let works = """
        raw,W1,W2,W3,W4,supervision,codec,growth-types,growth-workers-10,growth-sent,simulation
        """

    @Test("It does its works, checks what arrives, and prints a table", .timeLimit(.minutes(5)))
    func quickRun() async throws {
        let workspace = try Workspace()
        let arguments = ["--quick", "--rounds", "1", "--only", Self.works, "--json", "run.jsonl"]
        let result = try await SupervisorProgram.run(arguments, of: "bridge-benchmark", in: workspace.path)
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        let works = [
            "W1", "W1-crowded", "W2", "W2-threads4", "W2-workers4", "W2-crowded", "W2-fanout8", "W3-64KiB",
            "W3-1024KiB", "W4",
            "W4-memory", "supervision-noticed", "supervision-replaced", "supervision-idle", "codec-encode",
            "growth-types-1000", "growth-types-10000", "growth-workers-10", "growth-sent-1MB", "simulation",
            "simulation-time",
        ]
        for work in works {
            #expect(result.output.contains { $0.hasPrefix(work + " ") && $0.contains(" event-bridge ") }, "\(work)")
        }

        let compared = try await SupervisorProgram.run(
            ["--quick", "--rounds", "1", "--only", "codec", "--compare", "run.jsonl"],
            of: "bridge-benchmark",
            in: workspace.path
        )
        #expect(compared.status == .exited(code: 0), "\(compared.errors)")
        #expect(compared.output.first?.hasSuffix("x before") == true)
    }

    @Test("The works with a journal measure their peers beside it, and leave no files", .timeLimit(.minutes(5)))
    func journal() async throws {
        let workspace = try Workspace()
        let files = try PrivateDirectory.make(named: "benchmark-test")
        defer { files.remove() }
        let result = try await SupervisorProgram.run(
            ["--quick", "--rounds", "1", "--only", "journal"],
            of: "bridge-benchmark",
            in: workspace.path,
            environment: ["TMPDIR": files.path]
        )
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        // These programs may be missing, and are named if they are.
        let others = ["sqlite", "sqlite-full", "jetstream"]
        for (work, peers) in [
            ("journal-W1", ["event-bridge", "no-journal"]),
            ("journal-W2", ["event-bridge", "no-journal"]),
            ("journal-durable-1", ["event-bridge", "event-bridge-send", "sqlite", "jetstream"]),
            ("journal-durable-64", ["event-bridge", "event-bridge-send", "sqlite", "jetstream"]),
            ("journal-burst", ["event-bridge", "event-bridge-publish", "sqlite", "sqlite-full"]),
            ("journal-replay", ["event-bridge", "event-bridge-layout", "event-bridge-cbor", "sqlite"]),
            ("journal-open", ["event-bridge", "one-segment"]),
        ] {
            for peer in peers {
                let isShown = result.output.contains { $0.hasPrefix(work + " ") && $0.contains(" \(peer) ") }
                let isNamed = result.errors.contains { $0.hasPrefix("\(work): \(peer) is not measured: ") }
                #expect(isShown != isNamed, "\(work) \(peer): \(result.output)")
                #expect(isShown || others.contains(peer), "\(work) \(peer)")
            }
        }
        #expect(try StorageDirectory(at: files.path, makes: false).names() == [])
    }

    @Test("A work prints JSON lines in the form of its peers", .timeLimit(.minutes(5)))
    func jsonLines() async throws {
        let workspace = try Workspace()
        let result = try await SupervisorProgram.run(["W2", "100"], of: "bridge-benchmark", in: workspace.path)
        #expect(result.status == .exited(code: 0), "\(result.errors)")
        #expect(result.output.count == 1)
        #expect(result.output.first?.hasPrefix(#"{"peer":"event-bridge","work":"W2","events_per_s":"#) == true)
        #expect(result.output.first?.hasSuffix(#","n":100,"ok":true}"#) == true)
    }

    @Test("Arguments, files and works that are not there have exit statuses of their own", .timeLimit(.minutes(5)))
    func exitStatuses() async throws {
        let workspace = try Workspace()
        for (arguments, code) in [
            (["W9"], 64), (["--rounds", "no"], 64), (["--compare", "missing.jsonl"], 66), (["W4", "--layout"], 77),
            (["--json", "missing/run.jsonl"], 70),
        ] as [([String], CInt)] {
            let result = try await SupervisorProgram.run(arguments, of: "bridge-benchmark", in: workspace.path)
            #expect(result.status == .exited(code: code), "\(arguments): \(result.errors)")
            #expect(result.output.isEmpty)
            #expect(!result.errors.isEmpty)
        }
    }
}
