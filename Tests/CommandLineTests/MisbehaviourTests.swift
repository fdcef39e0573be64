import BridgePlatform
import Testing

/// A worker that goes wrong in one way: what `supervisor` tells the person who runs it, and what becomes of the run.
struct MisbehaviourCase: Sendable, CustomTestStringConvertible {
    let name: String
    let status: CInt
    /// The sentences on standard error, each in a line of its own, in this order; `#` stands for anything.
    let sentences: [String]
    /// Whether the test has to stop the run, because nothing else would end it.
    var isStopped = false
    /// Whether the run goes on until the worker has been killed and started again, which none of its events causes.
    var endsWhenReplaced = false
    /// Whether there is work for it; if not, the run ends when no worker is left, and no end can be blamed on an event
    /// by chance.
    var hasWork = true

    var testDescription: String { name }
}

@Suite("supervisor run tells in plain sentences what a worker did and what was done about it", .serialized)
struct MisbehaviourTests {
    private static let used = "process #; # s of processor time#"
    private static let leaves = "worker \"w\" (\(used)) exited with status 0, as it was asked to"
    private static let ready = "worker \"w\" is ready (process #)"
    private static let again = "; it is started again after a pause (attempt 1)"
    private static let gone = "stopping: no worker is left"
    private static let lost = "worker \"w\" may have lost events that it had published (# before): #"

    private static func dies(_ reason: String) -> String { "worker \"w\" (\(used)) \(reason)" }

    private static func givenUp(_ last: String) -> String {
        "worker \"w\" was given up: 2 restarts within #; last: \(last)"
    }

    /// A case in which a worker dies of an event each time.
    private static func deadly(_ name: String, _ reason: String) -> MisbehaviourCase {
        MisbehaviourCase(
            name: name,
            status: 75,
            sentences: [
                ready, dies(reason + again), "worker \"w\" left unfinished events: host-#",
                "WorkRequested (#) for worker \"w\" is put aside as dead letter 1 after 3 crashes over it: #",
            ]
        )
    }

    /// A case in which a worker sends what no honest worker sends, and is ended for it each time.
    private static func violation(_ name: String, _ sentence: String) -> MisbehaviourCase {
        MisbehaviourCase(
            name: name,
            status: 69,
            sentences: [
                ready, dies("broke the protocol: \(sentence)" + again), givenUp("broke the protocol: \(sentence)"),
                gone,
            ],
            hasWork: false
        )
    }

    private static func harmless(_ name: String, _ sentences: [String] = []) -> MisbehaviourCase {
        MisbehaviourCase(name: name, status: 0, sentences: [ready] + sentences + [leaves])
    }

    private static let deadline = "had not finished WorkRequested (#) after 500 ms"

    static let cases: [MisbehaviourCase] = [
        harmless("none"),
        harmless("flood"),
        harmless("slow:5ms"),
        harmless("reach"),
        MisbehaviourCase(
            name: "crash-before-hello",
            status: 69,
            sentences: [dies("killed by SIGABRT (6)#" + again), givenUp("killed by SIGABRT (6)#"), gone]
        ),
        MisbehaviourCase(
            name: "exit-early",
            status: 69,
            sentences: [dies("exited with status 0, unasked" + again), givenUp("exited with status 0"), gone]
        ),
        MisbehaviourCase(
            name: "no-hello",
            status: 69,
            sentences: [dies("was not ready # after its start" + again), givenUp("was not ready #"), gone]
        ),
        MisbehaviourCase(
            name: "bad-version",
            status: 69,
            sentences: [
                "worker \"w\" was given up: was refused in the handshake: the worker speaks protocol version 7000 to 7001 #",
                gone,
            ]
        ),
        MisbehaviourCase(
            name: "garbage",
            status: 69,
            sentences: [dies("broke the protocol: a frame of # bytes was announced; the limit is #" + again), gone]
        ),
        MisbehaviourCase(
            name: "huge-frame",
            status: 69,
            sentences: [
                ready, lost, dies("broke the protocol: a frame of # bytes was announced; the limit is #" + again),
                givenUp("broke the protocol: #"), gone,
            ],
            hasWork: false
        ),
        MisbehaviourCase(
            name: "flood-window",
            status: 69,
            sentences: [
                ready, lost, dies("broke the protocol: event # exceeds the window: #" + again),
                givenUp("broke the protocol: #"), gone,
            ],
            hasWork: false
        ),
        MisbehaviourCase(
            name: "torn-frame",
            status: 69,
            sentences: [
                ready, lost, dies("exited with status 0, unasked" + again), givenUp("exited with status 0"), gone,
            ],
            hasWork: false
        ),
        MisbehaviourCase(
            name: "deep-payload",
            status: 69,
            sentences: [
                ready, lost, dies("gave no sign of life for #" + again), givenUp("gave no sign of life for #"),
            ]
        ),
        violation("slow-frame", "a frame that it has begun made no progress for 400 ms, which is the limit"),
        violation(
            "flood-control",
            "it sends too many control messages that answer no event; the limit is 5 a second#"
        ),
        violation(
            "flood-names",
            "it brings the event name \"Made up 21\"; the limit is 20 names that no other process knows"
        ),
        violation("name-all", "no event has the name \"*\", by which a subscriber asks for all events"),
        violation("flood-interest", "interest in more than 30 names"),
        violation("command", "a drain frame is forbidden: only a host sends it"),
        MisbehaviourCase(
            name: "ignore-sigterm",
            status: 75,
            sentences: [
                ready, "stopping: the workers finish what they have", lost,
                dies("killed by SIGKILL (9) while it was being stopped"),
            ],
            isStopped: true
        ),
        harmless("burst", [dies("killed by SIGKILL (9)" + again)]),
        harmless("burst-held", [dies("killed by SIGKILL (9)" + again)]),
        MisbehaviourCase(
            name: "scribble",
            status: 75,
            sentences: [
                // The worker's own thread may meet the damage before the worker dies, and write frames that the host
                // finds to break the protocol.
                ready, "worker \"w\" # that it had published (# before): #", dies("#" + again),
            ]
        ),
        MisbehaviourCase(
            name: "burst-outside",
            status: 0,
            sentences: [ready, dies("killed by SIGKILL (9)" + again), ready],
            endsWhenReplaced: true
        ),
        harmless(
            "flood-stdout",
            ["worker \"w\" prints more than is shown: # lines (# bytes) left out; it goes on unhindered"]
        ),
        deadly("hang", deadline),
        deadly("spin", deadline),
        deadly("hang-on:t1", deadline),
        harmless("hang-once-on:t1", [dies(deadline + again)]),
        harmless("grandchild"),
        harmless("leak-descriptor"),
        // Another thread finds it: before or after the worker's own end is reported.
        MisbehaviourCase(
            name: "daemon",
            status: 0,
            sentences: [
                ready, "worker \"w\" (process #) had left process # behind (sleep 300), which was killed",
            ]
        ),
        MisbehaviourCase(
            name: "write-after-death",
            status: 0,
            sentences: [ready, "worker \"w\" (process #) had left process # behind (#), which was killed"]
        ),
        deadly("exceed-file-size", "killed by SIGXFSZ (25), its limit for the size of a file#"),
        deadly("allocate", "killed by SIG#, at its limit of memory (1 GiB)#"),
        deadly("crash-on:t1", "killed by SIGABRT (6)#"),
        harmless("crash-once-on:t1", [dies("killed by SIGABRT (6)#" + again)]),
        deadly("crash-beside:t1", "killed by SIGABRT (6)#"),
        deadly("crash-unless:/nonexistent", "killed by SIGABRT (6)#"),
        deadly("trap-on:t1", "killed by SIG#"),
        deadly("exit-on:t1", "exited with status 0, unasked"),
        // Only the memory, which is not read, could say which events were left unfinished.
        MisbehaviourCase(
            name: "violate-on:t1",
            status: 75,
            sentences: [
                ready, lost, dies("broke the protocol: a frame of # bytes was announced; the limit is #" + again),
                "WorkRequested (#) for worker \"w\" is put aside as dead letter 1 after 3 crashes over it: #", leaves,
            ]
        ),
        MisbehaviourCase(
            name: "throw-on:t1",
            status: 75,
            sentences: [
                ready,
                "w refused WorkRequested: work 300 (\"t1\") is refused on purpose (handler at faulty_worker/#.swift:#)",
                leaves,
            ]
        ),
    ]

    @Test("What is said, and how the run ends", .timeLimit(.minutes(5)), arguments: cases)
    func sentences(_ misbehaviour: MisbehaviourCase) async throws {
        if misbehaviour.name == "allocate", CurrentProcess.environment("TSAN_OPTIONS") != nil {
            return CurrentProcess.report(
                "not tested: what is said of a limit of memory, as a sanitizer takes more than any"
            )
        }
        let workspace = try Workspace()
        try workspace.write("bridge.json5", Self.configuration(misbehaviour.name))
        // One event is enough for a worker that hangs over each event, because each hang takes its time.
        let works =
            ["hang", "spin", "burst-outside"].contains(misbehaviour.name) ? [(300, "t1")] : [(300, "t1"), (2, "t2")]
        let input = works.map { number, text in
            #"{"type": "WorkRequested", "data": {"number": \#(number), "text": "\#(text)"}}"# + "\n"
        }
        let options = misbehaviour.hasWork ? ["--input", "-", "--exit-when-idle"] : []
        let starts = Count()
        let result = try await SupervisorProgram.run(
            ["run", "bridge.json5"] + options,
            in: workspace.path,
            input: misbehaviour.hasWork ? input.joined() : "",
            waitsForInput: misbehaviour.endsWhenReplaced,
            onError: { program, line in
                guard line.contains("is ready") else { return }
                if misbehaviour.isStopped { program.terminate() }
                if misbehaviour.endsWhenReplaced, starts.increment() == 2 { program.finishInput("") }
            }
        )
        #expect(result.status == .exited(code: misbehaviour.status), "\(result.errors)")
        var rest = result.errors[...]
        for sentence in misbehaviour.sentences {
            guard let index = rest.firstIndex(where: { Self.matches($0, sentence) }) else {
                Issue.record("no \"\(sentence)\" in \(rest.joined(separator: "\n"))")
                return
            }
            rest = rest[(index + 1)...]
        }
    }

    /// The deadlines that a case is about are short, and no other case comes near them.
    private static func configuration(_ name: String) -> String {
        let handshake = name == "no-hello" ? "500ms" : "4m"
        let heartbeat = name == "deep-payload" ? #"{ every: "200ms" }"# : #"{ every: "1m" }"#
        let deadline = name.hasPrefix("hang") || name == "spin" ? #"handlerDeadline: "500ms", "# : ""
        // Limits that only these misbehaviours exceed, lower than the defaults. The limit of memory is above what the
        // tests' own process takes: the kernel lets a process inherit that peak, and a lower one would not show.
        let limits =
            switch name {
            case "slow-frame": #"frameDeadline: "400ms", "#
            case "flood-control": "controlMessages: 5, "
            case "flood-names": "eventNames: 20, "
            case "allocate": "memory: \"1GiB\", core: 0, "
            case "flood-interest": "interestNames: 30, controlMessages: 1000000, "
            default: ""
            }
        let grace = name == "ignore-sigterm" ? "100ms" : "4m"
        return """
            { intensity: { restarts: 2, within: "1h" }, workers: [ {
                name: "w", executable: "faulty-worker", arguments: ["--misbehave", "\(name)"], subscribes: ["WorkRequested"],
                \(Workspace.workerEnvironment),
                backoff: { initial: "1ms", maximum: "2ms" }, handshake: "\(handshake)", heartbeat: \(heartbeat),
                shutdown: { grace: "\(grace)" }, limits: { \(deadline)\(limits)output: "4KiB" },
            } ] }
            """
    }

    /// Whether the line ends with the sentence, whose `#` stands for anything.
    private static func matches(_ line: String, _ sentence: String) -> Bool {
        let parts = sentence.split(separator: "#", omittingEmptySubsequences: false)
        var rest = line[...]
        for (index, part) in parts.enumerated() where !part.isEmpty {
            if index == parts.count - 1 { return rest.hasSuffix(part) }
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return parts.last?.isEmpty == true
    }
}
