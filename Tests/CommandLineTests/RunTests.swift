import BridgePlatform
import JSONText
import Locks
import Testing

@Suite("supervisor run")
struct RunTests {
    /// None of these tests is about time: a slow or busy machine must miss no deadline.
    private static let patience = #"handshake: "4m", heartbeat: { every: "1m" }, shutdown: { grace: "4m" },"#

    private func worker(_ name: String, _ misbehaviour: String) -> String {
        """
        { name: "\(name)", executable: "faulty-worker", arguments: ["--misbehave", "\(misbehaviour)"],
          subscribes: ["WorkRequested"], backoff: { initial: "1ms", maximum: "2ms" }, \(Workspace.workerEnvironment), \(Self.patience) },
        """
    }

    private func configuration(_ workers: String...) -> String {
        // A worker that fails again and again is given up, however long its starts take.
        "{ workers: [\n\(workers.joined(separator: "\n"))\n], intensity: { restarts: 5, within: \"1h\" } }"
    }

    private func work(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { #"{"type": "WorkRequested", "data": {"number": \#($0), "text": "t\#($0)"}}"# + "\n" }.joined()
    }

    @Test("runs the sample to its end, and prints every event as a CloudEvent", .timeLimit(.minutes(5)))
    func sample() async throws {
        let workspace = try Workspace()
        try workspace.write("relocation.json", Workspace.fixture("relocation.json"))
        try workspace.write("relocation.jsonl", Workspace.fixture("relocation.jsonl"))
        let result = try await workspace.run(
            "run",
            "relocation.json",
            "--input",
            "relocation.jsonl",
            "--exit-when-idle",
            "--format",
            "json"
        )
        #expect(result.status == .exited(code: 0))
        #expect(result.errors.count == 4, "\(result.errors)")
        let events = try result.output.map { try JSONReader().read($0) }
        #expect(events.allSatisfy { $0["specversion"]?.value == .string("1.0") && $0["data"] != nil })
        let types = Set(
            events.compactMap { event in if case .string(let type)? = event["type"]?.value { type } else { nil } }
        )
        #expect(types.isSuperset(of: ["BoxOrdered", "BoxProvisioned", "CanvasSaveRequested", "CanvasSaved"]))
        let ids = Set(events.compactMap { $0["id"]?.value })
        #expect(ids.count == events.count)
        // No reader sees an effect before its cause.
        var seen: Set<JSONNode.Value> = []
        for event in events {
            if let id = event["id"]?.value { seen.insert(id) }
            if let cause = event["causationid"]?.value { #expect(seen.contains(cause)) }
        }
    }

    @Test(
        "goes on with the other workers when one is not there, and says so at the end",
        .timeLimit(.minutes(5)),
        arguments: ["ghost-worker", String(repeating: "g", count: 300)]
    )
    func missingWorker(program: String) async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            configuration(worker("good", "none"), "{ name: 'ghost', executable: '\(program)' }")
        )
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            "--exit-when-idle",
            input: work(1...3)
        )
        #expect(result.status == .exited(code: 69))
        #expect(result.output.count == 6)
        #expect(
            result.errors.contains { $0.hasPrefix("bridge.json5:4:30: workers[1].executable: there is no program") }
        )
        #expect(result.errors.contains { $0.contains("worker \"ghost\" was given up") && $0.contains(program) })
        // Another try would be of no use.
        #expect(!result.errors.contains { $0.contains("is started again") }, "\(result.errors)")
    }

    @Test("ends when no worker is left", .timeLimit(.minutes(5)), arguments: ["exit-early", "bad-version", "garbage"])
    func noWorkerLeft(misbehaviour: String) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("faulty", misbehaviour)))
        let result = try await workspace.run("run", "bridge.json5")
        #expect(result.status == .exited(code: 69))
        #expect(result.errors.suffix(2).first?.hasPrefix("supervisor: worker \"faulty\" was given up: ") == true)
        #expect(result.errors.last == "supervisor: stopping: no worker is left")
    }

    @Test("does not wait for a program that says nothing", .timeLimit(.minutes(5)))
    func mute() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            """
            { workers: [{ name: "mute", executable: "/bin/sh", arguments: ["-c", "exec sleep 1000"],
                handshake: "100ms", restart: "temporary" }] }
            """
        )
        let result = try await workspace.run("run", "bridge.json5")
        #expect(result.status == .exited(code: 69))
        // On a busy machine the worker is given more time.
        let sentence = /was not ready ([0-9]{3}(\.[0-9]+)? ms|[0-9]+(\.[0-9]+)? s) after its start; stopped$/
        #expect(result.errors.contains { $0.contains(sentence) }, "\(result.errors)")
    }

    @Test("shows what a program prints, harmless for a terminal", .timeLimit(.minutes(5)))
    func printing() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            """
            { workers: [{ name: "printing", executable: "/bin/sh", arguments: ["-c", "printf 'a\\\\033b'"],
                handshake: "4m", restart: "temporary" }] }
            """
        )
        let result = try await workspace.run("run", "bridge.json5")
        #expect(result.errors.contains("[printing] a\\u001bb"))
    }

    @Test("names every bad line of the input, skips it, and ends well", .timeLimit(.minutes(5)))
    func badLines() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("good", "none")))
        try workspace.write(
            "in.jsonl",
            """
            not json

            {"type": "WorkRequestd", "data": {}}
            {"type": "WorkRequested", "data": {"number": "five", "text": "t"}}
            {"type": "WorkRequested", "data": {"number": 5}}
            {"type": "WorkerReady", "data": {}}
            {"type": "WorkRequested", "data": {"number": 7, "text": "t"}}
            """
        )
        let result = try await workspace.run("run", "bridge.json5", "--input", "in.jsonl", "--exit-when-idle")
        #expect(result.status == .exited(code: 0))
        let complaints = result.errors.filter { $0.hasPrefix("in.jsonl:") }.sorted()
        try #require(complaints.count == 5)
        #expect(complaints[0] == "in.jsonl:1:1: found \"not\", expected a value")
        #expect(complaints[1] == "in.jsonl:3: no worker wants \"WorkRequestd\"; did you mean \"WorkRequested\"?")
        #expect(complaints[2].hasPrefix("in.jsonl:4: good refused WorkRequested: ") && complaints[2].contains("number"))
        #expect(complaints[3].hasPrefix("in.jsonl:5: good refused WorkRequested: ") && complaints[3].contains("text"))
        #expect(complaints[4].hasPrefix("in.jsonl:6: WorkerReady is a report"))
        #expect(result.output.count { $0.contains("WorkDone") } == 1)
    }

    @Test(
        "with --strict ends in good order at the first bad line",
        .timeLimit(.minutes(5)),
        arguments: ["{", #"{"type": "Nobody", "data": {}}"#, #"{"type": "WorkRequested", "data": {}}"#]
    )
    func strict(line: String) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("good", "none")))
        try workspace.write("in.jsonl", work(1...1) + line + "\n")
        let result = try await workspace.run("run", "bridge.json5", "--input", "in.jsonl", "--strict")
        #expect(result.status == .exited(code: 65))
        #expect(result.output.contains { $0.contains("WorkDone") })
        #expect(result.errors.last?.hasSuffix("exited with status 0, as it was asked to") == true)
    }

    @Test("reports what a worker's handler refused, with the line, and ends with status 75", .timeLimit(.minutes(5)))
    func handlerFailed() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("faulty", "throw-on:t2")))
        try workspace.write("in.jsonl", work(1...3))
        let result = try await workspace.run("run", "bridge.json5", "--input", "in.jsonl", "--exit-when-idle")
        #expect(result.status == .exited(code: 75))
        #expect(result.errors.contains { $0.hasPrefix("in.jsonl:2: faulty refused WorkRequested: ") })
    }

    @Test("lists what a worker that was given up has left, and the others finish", .timeLimit(.minutes(5)))
    func leftovers() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            configuration(worker("faulty", "crash-on:WorkRequested"), worker("good", "none"))
        )
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--input",
            "-",
            "--exit-when-idle",
            input: work(1...6)
        )
        #expect(result.status == .exited(code: 69))
        #expect(result.errors.contains { $0.contains("3 events for worker \"faulty\" left unhandled") })
        #expect(result.errors.count { $0.contains(" is put aside as dead letter ") } == 3)
        #expect(result.output.count { $0.contains("good ") && $0.contains("WorkDone") } == 6)
    }

    @Test(
        "tells of an event that was dead-lettered, handles the others, and ends with status 75",
        .timeLimit(.minutes(5)),
        arguments: ["text", "json"]
    )
    func deadLetter(format: String) async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("faulty", "crash-on:t2")))
        let result = try await workspace.run(
            "run",
            "bridge.json5",
            "--format",
            format,
            "--input",
            "-",
            "--exit-when-idle",
            input: work(1...3)
        )
        #expect(result.status == .exited(code: 75))
        let told = result.errors.filter { $0.contains("dead letter") }
        try #require(told.count == 1)
        #expect(told[0].hasPrefix("supervisor: WorkRequested (host-"))
        let rest =
            ") for worker \"faulty\" is put aside as dead letter 1 after 3 crashes over it: killed by SIGABRT (6)"
        #expect(told[0].contains(rest))
        // The first event may come twice: its acknowledgement may not have left before the crash.
        for text in ["t1", "t3"] {
            #expect(result.output.contains { $0.contains("WorkDone") && $0.contains("\"\(text)\"") })
        }
        #expect(!result.output.contains { $0.contains("EventDeadLettered") })
    }

    @Test("ends a worker at the deadline of its handlers, and says over what", .timeLimit(.minutes(5)))
    func handlerDeadline() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            """
            { workers: [{ name: "faulty", executable: "faulty-worker", arguments: ["--misbehave", "hang-on:t2"],
                subscribes: ["WorkRequested"], \(Workspace.workerEnvironment), \(Self.patience)
                limits: { strikes: 1, handlerDeadline: "1s" } }] }
            """
        )
        try workspace.write("in.jsonl", work(1...3))
        let result = try await workspace.run("run", "bridge.json5", "--input", "in.jsonl", "--exit-when-idle")
        #expect(result.status == .exited(code: 75))
        let told = try #require(result.errors.first { $0.contains("dead letter") })
        #expect(told.contains(" after 1 crash over it: had not finished WorkRequested (host-"))
        #expect(told.hasSuffix(" after 1 s"))
        #expect(result.output.contains { $0.contains("WorkDone") && $0.contains("\"t3\"") })
    }

    @Test("tells of events that may be lost with a worker, and ends with status 75", .timeLimit(.minutes(5)))
    func lostEvents() async throws {
        let workspace = try Workspace()
        try workspace.write(
            "bridge.json5",
            """
            { workers: [{ name: "faulty", executable: "faulty-worker", arguments: ["--misbehave", "torn-frame"],
                subscribes: ["WorkRequested"], restart: "temporary", \(Workspace.workerEnvironment), \(Self.patience) }] }
            """
        )
        let result = try await workspace.run("run", "bridge.json5")
        #expect(result.status == .exited(code: 75))
        let told = """
            supervisor: worker "faulty" may have lost events that it had published (0 had arrived before): \
            it ended without a goodbye, and shared no outbox
            """
        #expect(result.errors.count { $0 == told } == 1, "\(result.errors)")
    }

    @Test("stops in good order on SIGTERM, and goes on after SIGHUP", .timeLimit(.minutes(5)))
    func signals() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("first", "none"), worker("second", "none")))
        let ready = Countdown(2)
        let result = try await workspace.run("run", "bridge.json5", "--input", "-") { program, line in
            if line.contains("is ready"), ready.reachesZero() { program.hangUp() }
            if line.contains("was read again") { program.terminate() }
        }
        #expect(result.status == .exited(code: 0))
        let ends = result.errors.filter { $0.hasSuffix("exited with status 0, as it was asked to") }
        #expect(ends.map { $0.contains("\"second\"") } == [true, false])
    }

    @Test("says that there is no such input before anything runs", .timeLimit(.minutes(5)))
    func missingInput() async throws {
        let workspace = try Workspace()
        try workspace.write("bridge.json5", configuration(worker("good", "none")))
        let result = try await workspace.run("run", "bridge.json5", "--input", "nothing.jsonl")
        #expect(result.status == .exited(code: 66))
        #expect(result.errors == ["nothing.jsonl: the input cannot be read: No such file or directory"])
    }
}

/// Reports once that it has been called `count` times.
private final class Countdown: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var rest: Int

    init(_ count: Int) {
        rest = count
    }

    func reachesZero() -> Bool {
        lock.withLock {
            rest -= 1
            return rest == 0
        }
    }
}
