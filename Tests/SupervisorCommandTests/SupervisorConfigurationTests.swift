import DomainEvents
import EventBridge
import JSONText
import Testing

@testable import SupervisorConfiguration
@testable import supervisor

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite("Supervisor configuration")
struct SupervisorConfigurationTests {
    private func parse(_ text: String) throws(SupervisorConfigurationError) -> SupervisorConfiguration {
        try SupervisorConfiguration.parse(Array(text.utf8), file: "bridge.json5")
    }

    /// `path (line): message` of every mistake.
    private func mistakes(_ text: String) -> [String] {
        do {
            _ = try parse(text)
            return []
        } catch {
            guard case .mistakes(_, let mistakes) = error else { return [error.description] }
            return mistakes.map { "\($0.path) (\($0.line)): \($0.message)" }
        }
    }

    /// The mistakes in a worker that is right except for these keys.
    private func workerMistakes(_ keys: String) -> [String] {
        mistakes("{workers: [{name: 'a', executable: 'x', \(keys)}]}")
    }

    @Test("reads every key")
    func readsEveryKey() throws {
        let configuration = try parse(
            """
            // JSON5: comments and trailing commas are fine
            {
              strategy: "rest-for-one",
              intensity: { restarts: 3, within: "1m" },
              deadLetters: { letters: 50, bytes: "1MiB", whenFull: "evict-oldest" },
              workers: [
                {
                  name: "provisioning",
                  executable: "provisioning-worker",
                  arguments: ["--store", "boxes.json", ""],
                  environment: { LOG_LEVEL: "info", EMPTY: "" },
                  directory: "/tmp",
                  subscribes: ["BoxOrdered", "ItemReceived"],
                  publishes: ["BoxProvisioned"],
                  restart: "transient",
                  backoff: { initial: "50ms", maximum: "10s" },
                  handshake: "1.5s",
                  heartbeat: { every: "2s", tolerance: 4 },
                  shutdown: { grace: "0s" },
                  limits: { outbox: "1MiB", overflow: { "*": "drop-oldest", Moved: { latest: "id" } }, frame: 65536, strikes: 5, handlerDeadline: "30s", output: "64KiB" }
                },
                { name: "canvas", executable: "canvas-worker", subscribes: ["BoxOrdered"], publishes: [], mayImport: true, limits: { strikes: "never" } }
              ]
            }
            """
        )
        let provisioning = SupervisorConfiguration.Worker(
            name: "provisioning",
            executable: "provisioning-worker",
            arguments: ["--store", "boxes.json", ""],
            environment: ["LOG_LEVEL": "info", "EMPTY": ""],
            directory: "/tmp",
            subscribes: ["BoxOrdered", "ItemReceived"],
            publishes: ["BoxProvisioned"],
            restart: .transient,
            backoff: .init(initial: .milliseconds(50), maximum: .seconds(10)),
            handshake: .milliseconds(1500),
            heartbeat: .init(every: .seconds(2), tolerance: 4),
            shutdown: .init(grace: .zero),
            limits: .init(
                outbox: 1 << 20,
                overflow: ["*": .dropOldest, "Moved": .latest(by: "id")],
                frame: 65_536,
                strikes: 5,
                handlerDeadline: .seconds(30),
                output: 64 << 10
            )
        )
        var canvas = SupervisorConfiguration.Worker(name: "canvas", executable: "canvas-worker")
        canvas.subscribes = ["BoxOrdered"]
        canvas.publishes = []
        canvas.mayImport = true
        canvas.limits.strikes = nil
        #expect(
            configuration
                == SupervisorConfiguration(
                    strategy: .restForOne,
                    intensity: .init(restarts: 3, within: .seconds(60)),
                    deadLetters: .init(letters: 50, bytes: 1 << 20, whenFull: .evictOldest),
                    workers: [provisioning, canvas]
                )
        )
    }

    @Test("reads the journal, with its defaults, and says what is wrong with it")
    func journal() throws {
        func parse(_ journal: String) throws -> KeptEvents? {
            let text = "{ journal: \(journal), workers: [{ name: \"a\", executable: \"b\" }] }"
            return try SupervisorConfiguration.parse(Array(text.utf8), file: "c").journal
        }
        #expect(
            try parse(#"{ directory: "kept", events: ["A"] }"#)
                == KeptEvents(directory: "kept", events: ["A"])
        )
        let whole = #"""
            { directory: "/kept", events: ["A", "B"], durability: "machine", within: "5ms", bytes: "10GiB", age: "720h",
              whenFull: "remove-oldest" }
            """#
        var expected = KeptEvents(directory: "/kept", events: ["A", "B"])
        (expected.durability, expected.within, expected.whenFull) = (.machine, .milliseconds(5), .removeOldest)
        (expected.bytes, expected.age) = (10 << 30, .seconds(720 * 3_600))
        #expect(try parse(whole) == expected)
        for (journal, words) in [
            ("{}", "the key \"directory\" is missing"),
            (#"{ directory: "k", events: [] }"#, "expected at least one name"),
            (#"{ directory: "k", events: ["*"] }"#, "journal.events"),
            (#"{ directory: "k", events: ["A"], within: "1s" }"#, "expected \"durability\": \"machine\" beside it"),
            (#"{ directory: "k", events: ["A"], bytes: "1KiB" }"#, "expected from 1MiB"),
            (#"{ directory: "k", events: ["A"], age: 3 }"#, "journal.age"),
            (#"{ directory: "k", events: ["A"], mode: "x" }"#, "unknown key \"mode\""),
        ] {
            let error = #expect(throws: SupervisorConfigurationError.self) { try parse(journal) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "") \(words)")
        }
    }

    @Test("fills in the defaults")
    func fillsInDefaults() throws {
        let configuration = try parse(#"{"$schema": "s.json", "workers": [{"name": "a", "executable": "x"}]}"#)
        #expect(configuration == SupervisorConfiguration(workers: [.init(name: "a", executable: "x")]))
        #expect(configuration.strategy == .oneForOne)
        #expect(configuration.intensity == .init(restarts: 5, within: .seconds(10)))
        let worker = try #require(configuration.workers.first)
        #expect(worker.restart == .permanent)
        #expect(worker.publishes == nil)
        #expect(!worker.mayImport)
        #expect(worker.backoff == .init(initial: .milliseconds(100), maximum: .seconds(30)))
        #expect(worker.handshake == .seconds(10))
        #expect(worker.heartbeat == .init(every: .seconds(1), tolerance: 3))
        #expect(worker.shutdown == .init(grace: .seconds(5)))
        #expect(
            worker.limits == .init(outbox: 4 << 20, overflow: [:], frame: 16 << 20, strikes: 3, handlerDeadline: nil)
        )
        #expect(configuration.deadLetters == .init(letters: 1_000, bytes: 16 << 20, whenFull: .stop))
    }

    @Test("reports every mistake of a file at once, with its path and line, in the order of the file")
    func reportsEveryMistake() {
        let found = mistakes(
            """
            {
              $schema: 1, control: 7,
              strategy: "one-for-al",
              intensity: { restarts: -1, within: 10 },
              deadLetters: { letters: 0, bytes: "1X", whenFull: "evict", days: 3 },
              workers: [
                { name: "canvas", executable: "canvas-worker", restart: "allways" },
                {
                  name: "canvas",
                  executabel: "x",
                  environment: { LOG_LEVEL: 3, "A B": null },
                  subscribes: ["A", "", "A"],
                  backoff: { initial: "1m", maximum: "1s" },
                  handshake: "10",
                  heartbeat: { tolerance: 0 },
                  shutdown: "5s",
                  limits: { outbox: "4MB2", frame: 1, overflow: { A: "drop", "": "wait", B: { first: "x" }, C: 1 }, memory: "1KiB", openFiles: "many", cpuTime: "1500ms", files: 1, strikes: 0,
                    handlerDeadline: "0s" },
                  box: { readOnly: "/srv", writable: [""], network: "none", umask: "089", root: true },
                },
                "third",
              ],
            }
            """
        )
        #expect(
            found == [
                "$schema (2): found the number 1, expected a string such as \"configuration.schema.json\"",
                "control (2): found the number 7, expected a string such as \"run/supervisor.sock\"",
                "strategy (3): \"one-for-al\" is none of one-for-one, one-for-all, rest-for-one; did you mean \"one-for-all\"?",
                "intensity.restarts (4): found the number -1, expected an integer from 0 to 10000",
                "intensity.within (4): found the number 10, expected a string such as \"10s\"",
                "deadLetters.letters (5): found the number 0, expected an integer from 1 to 1000000",
                "deadLetters.bytes (5): found the string \"1X\", expected one of the units TiB, GiB, MiB, KiB, TB, GB, MB, kB, B",
                "deadLetters.whenFull (5): \"evict\" is none of stop, evict-oldest",
                "deadLetters.days (5): unknown key \"days\"; known here are letters, bytes, whenFull",
                "workers[0].restart (7): \"allways\" is none of permanent, transient, temporary; did you mean \"permanent\"?",
                "workers[1] (8): the key \"executable\" is missing, expected a program such as \"canvas-worker\"",
                "workers[1].name (9): duplicate worker name \"canvas\" (first at line 7)",
                "workers[1].executabel (10): unknown key \"executabel\"; did you mean \"executable\"?",
                "workers[1].environment.LOG_LEVEL (11): found the number 3, expected a string such as \"info\"",
                "workers[1].environment[\"A B\"] (11): found null, expected a string such as \"info\"",
                "workers[1].subscribes[1] (12): found an empty string, expected one such as \"BoxOrdered\"",
                "workers[1].subscribes[2] (12): duplicate \"A\" (first at line 12)",
                "workers[1].backoff (13): found the initial back-off 1m, expected no more than the maximum, 1s",
                "workers[1].handshake (14): found the string \"10\", expected a unit after the number, one of ns, us, ms, s, m, h",
                "workers[1].heartbeat.tolerance (15): found the number 0, expected an integer from 1 to 1000",
                "workers[1].shutdown (16): found the string \"5s\", expected an object with \"grace\"",
                "workers[1].limits.outbox (17): found the string \"4MB2\", "
                    + "expected one of the units TiB, GiB, MiB, KiB, TB, GB, MB, kB, B; did you mean \"MB\"?",
                "workers[1].limits.frame (17): found the number 1, expected from 64KiB to 1GiB",
                "workers[1].limits.overflow.A (17): \"drop\" is none of wait, fail, drop-oldest, drop-newest",
                "workers[1].limits.overflow[\"\"] (17): an event name has 1 to 256 bytes; found 0",
                "workers[1].limits.overflow.B (17): the key \"latest\" is missing, expected the name of a field of the event",
                "workers[1].limits.overflow.B.first (17): unknown key \"first\"; known here are latest",
                "workers[1].limits.overflow.C (17): found the number 1, expected one of \"wait\", \"fail\", \"drop-oldest\", \"drop-newest\"",
                "workers[1].limits.memory (17): found the string \"1KiB\", expected from 16MiB to 1024TiB",
                "workers[1].limits.openFiles (17): found the string \"many\", expected an integer from 16 to 1048576",
                "workers[1].limits.cpuTime (17): found 1500ms, expected whole seconds",
                "workers[1].limits.files (17): unknown key \"files\"; known here are outbox, overflow, frame, strikes, handlerDeadline, output, "
                    + "interestNames, eventNames, controlMessages, frameDeadline, memory, cpuTime, openFiles, processes, core, fileSize",
                "workers[1].limits.strikes (17): found the number 0, expected an integer from 1 to 1000 or \"never\"",
                "workers[1].limits.handlerDeadline (18): found the string \"0s\", expected from 1ms to 168h",
                "workers[1].box.readOnly (19): found the string \"/srv\", expected an array of strings such as [\"/srv/maps\"]",
                "workers[1].box.writable (19): found an empty path, expected one such as \"/srv/tiles\"",
                "workers[1].box.network (19): found the string \"none\", expected true or false",
                "workers[1].box.umask (19): found \"089\", expected octal digits from \"000\" to \"777\"",
                "workers[1].box.root (19): unknown key \"root\"; known here are readOnly, writable, network, connections, umask, bestEffort",
                "workers[2] (21): found the string \"third\", expected an object with keys such as \"name\", \"executable\", \"arguments\"",
            ]
        )
    }

    @Test("a pool is a count, or says for each event how its member is found")
    func pools() throws {
        let configuration = try parse(
            """
            { workers: [
              { name: "a", executable: "x", pool: 4 },
              { name: "b", executable: "x", subscribes: ["E", "F"],
                pool: { members: 2, keys: { E: { field: "id" }, F: "every-member", "*": "any-member" } } },
              { name: "c", executable: "x" },
            ] }
            """
        )
        #expect(
            configuration.workerSpecifications.map(\.pool) == [
                WorkerPool(4), WorkerPool(2, keys: ["E": .field("id"), "F": .everyMember, "*": .anyMember]), nil,
            ]
        )
    }

    @Test("keys that are two Unicode spellings of one text are refused; a key has the very bytes of a name")
    func spellings() {
        // "é" as one scalar, and as a letter with an accent.
        let (one, other) = ("\u{E9}", "e\u{301}")
        let again = "found the key \"\(other)\", which stands above in another Unicode spelling"
        for (worker, path) in [
            ("limits: {overflow: {\(one): 'drop-oldest', \(other): 'wait'}}", "limits.overflow"),
            (
                "pool: {members: 2, keys: {\(one): 'any-member', \(other): 'every-member'}}, "
                    + "subscribes: ['\(one)', '\(other)']", "pool.keys"
            ),
        ] {
            let mistakes = workerMistakes(worker)
            #expect(mistakes.count == 1 && mistakes[0].hasPrefix("workers[0].\(path)"), "\(mistakes)")
            #expect(mistakes.first?.hasSuffix(again) == true, "\(mistakes)")
        }
        let unsubscribed = workerMistakes("pool: {members: 2, keys: {\(one): 'any-member'}}, subscribes: ['\(other)']")
        #expect(unsubscribed.count == 1 && unsubscribed[0].contains("expected one of the events"), "\(unsubscribed)")
    }

    @Test("thousands of a pool's keys are found among thousands of names", .timeLimit(.minutes(1)))
    func manyPoolKeys() throws {
        // Comparing each key with each name would take 450 million comparisons.
        let names = (0..<30_000).map { "E\($0)" }
        let keys = names.map { "\($0):'any-member'" }.joined(separator: ",")
        let subscribes = names.map { "'\($0)'" }.joined(separator: ",")
        let worker = "name: 'a', executable: 'x', subscribes: [\(subscribes)], pool: {members: 2, keys: {\(keys)}}"
        let configuration = try parse("{workers: [{\(worker)}]}")
        #expect(configuration.workers.first?.pool?.keys.count == names.count)
    }

    @Test("names the mistakes of a pool")
    func poolMistakes() {
        #expect(!workerMistakes("pool: 0").isEmpty)
        #expect(!workerMistakes("pool: 257").isEmpty)
        #expect(!workerMistakes("pool: 'many'").isEmpty)
        #expect(!workerMistakes("pool: {}").isEmpty)
        #expect(!workerMistakes("pool: {members: 2, keys: {E: 'first-member'}}, subscribes: ['E']").isEmpty)
        #expect(!workerMistakes("pool: {members: 2, keys: {E: {field: ''}}}, subscribes: ['E']").isEmpty)
        #expect(
            workerMistakes("pool: {members: 2, keys: {F: 'any-member'}}, subscribes: ['E']") == [
                "workers[0].pool.keys.F (1): found a key for \"F\", expected one of the events that the worker subscribes to, or \"*\""
            ]
        )
        #expect(
            mistakes("{workers: [{name: 'a', executable: 'x', pool: 2}, {name: 'a.2', executable: 'x'}]}") == [
                "workers (1): a member of the pool \"a\" has the name of the worker \"a.2\" at line 1"
            ]
        )
    }

    @Test("refuses a file without workers")
    func refusesNoWorkers() {
        #expect(mistakes("{}") == [" (1): the key \"workers\" is missing, expected an array with at least one worker"])
        #expect(mistakes("{workers: []}") == ["workers (1): found an empty array, expected at least one worker"])
        #expect(mistakes("{workers: {}}") == ["workers (1): found an empty object, expected an array of workers"])
        #expect(
            mistakes("[]") == [
                " (1): found an empty array, expected an object with keys such as \"strategy\", \"intensity\", \"workers\""
            ]
        )
    }

    @Test(
        "takes names of letters, digits, point, underscore and dash",
        arguments: ["a", "A-b_c.9", String(repeating: "x", count: 64)]
    )
    func takesNames(name: String) throws {
        #expect(try parse("{workers: [{name: '\(name)', executable: 'x'}]}").workers.first?.name == name)
    }

    @Test(
        "refuses other names",
        arguments: [
            "", "a b", "a/b", "é", "a\\n", "host", "input", "client-1", "client-09", String(repeating: "x", count: 65),
        ]
    )
    func refusesNames(name: String) {
        let found = mistakes("{workers: [{name: '\(name)', executable: 'x'}]}")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("workers[0].name (1): found ") == true)
    }

    @Test("refuses what the kernel could not take as it is written")
    func refusesWhatTheKernelCannotTake() {
        #expect(workerMistakes(#"arguments: ['a\0b'], directory: '\0'"#).count == 2)
        #expect(workerMistakes(#"environment: {'': '1'}"#).count == 1)
        #expect(workerMistakes(#"environment: {'A=B': '1'}"#).count == 1)
        #expect(workerMistakes(#"environment: {A: '\0'}"#).count == 1)
        #expect(workerMistakes("environment: {EVENT_BRIDGE_FD: '3'}").count == 1)
    }

    @Test("refuses names that no event has")
    func refusesEventNames() {
        let long = String(repeating: "x", count: 257)
        let sentence = "an event name has 1 to 256 bytes; found 257"
        #expect(workerMistakes("subscribes: ['A', '*', '\(long)']") == ["workers[0].subscribes[2] (1): \(sentence)"])
        #expect(workerMistakes("publishes: ['\(long)']") == ["workers[0].publishes[0] (1): \(sentence)"])
        #expect(workerMistakes("publishes: ['\(long.dropLast())']") == [])
        #expect(
            workerMistakes("publishes: ['A', '*']") == [
                "workers[0].publishes[1] (1): no event has the name \"*\", by which a subscriber asks for all events"
            ]
        )
    }

    @Test("two workers may subscribe to one event, one worker not twice")
    func checksSubscriptions() throws {
        let two =
            "{workers: [{name: 'a', executable: 'x', subscribes: ['E']}, {name: 'b', executable: 'x', subscribes: ['E']}]}"
        #expect(try parse(two).workers.map(\.subscribes) == [["E"], ["E"]])
        #expect(
            workerMistakes("subscribes: ['E', 'F', 'E']") == [
                "workers[0].subscribes[2] (1): duplicate \"E\" (first at line 1)"
            ]
        )
    }

    @Test("one end of the back-off given alone moves the other's default where it must")
    func completesBackoff() throws {
        func backoff(_ text: String) throws -> SupervisorConfiguration.Worker.Backoff? {
            try parse("{workers: [{name: 'a', executable: 'x', backoff: \(text)}]}").workers.first?.backoff
        }
        #expect(try backoff("{initial: '1m'}") == .init(initial: .seconds(60), maximum: .seconds(60)))
        #expect(try backoff("{maximum: '10ms'}") == .init(initial: .milliseconds(10), maximum: .milliseconds(10)))
        #expect(try backoff("{maximum: '1m'}") == .init(initial: .milliseconds(100), maximum: .seconds(60)))
    }

    @Test("a syntax error names file, line and column")
    func namesSyntaxErrors() throws {
        let error = try #require(throws: SupervisorConfigurationError.self) { try parse("{\n  workers = []}") }
        #expect(error.description == "bridge.json5:2:11: found \"=\", expected \":\" after the key \"workers\"")
        let mistake = try #require(throws: SupervisorConfigurationError.self) { try parse("{workers: []}") }
        #expect(
            mistake.description == "bridge.json5:1:11: workers: found an empty array, expected at least one worker"
        )
    }

    @Test("100,000 mistakes are reported without trouble", .timeLimit(.minutes(5)))
    func bearsManyMistakes() {
        let keys = (0..<30_000).map { "k\($0): 0" }.joined(separator: ",")
        #expect(mistakes("{\(keys)}").count == 30_001)
    }
}

@Suite("Supervisor configuration file")
struct SupervisorConfigurationFileTests {
    /// A new directory, removed at the end.
    private func withDirectory(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/supervisor-configuration.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer {
            unlink("\(directory)/file")
            rmdir(directory)
        }
        try body(directory)
    }

    private func write(_ bytes: [UInt8], to file: String) throws {
        let stream = try #require(fopen(file, "w"))
        #expect(fwrite(bytes, 1, bytes.count, stream) == bytes.count)
        fclose(stream)
    }

    @Test("reads a file up to the limit, and refuses one that is a byte larger")
    func limitsSize() throws {
        try withDirectory { directory in
            let file = "\(directory)/file"
            let text = Array(#"{"workers": [{"name": "a", "executable": "x"}]}"#.utf8)
            let spaces = [UInt8](repeating: 0x20, count: SupervisorConfiguration.greatestFileSize - text.count)
            try write(text + spaces, to: file)
            #expect(try SupervisorConfiguration.load(file: file).workers.count == 1)
            try write(text + spaces + [0x20], to: file)
            let error = try #require(throws: SupervisorConfigurationError.self) {
                try SupervisorConfiguration.load(file: file)
            }
            #expect(error == .tooLarge(file: file, limit: 1 << 20))
            #expect(error.description == "\(file): found more than 1MiB, which is the limit for a configuration file")
        }
    }

    @Test("names a file that is missing, a directory, an endless one and a broken name")
    func namesUnreadableFiles() throws {
        try withDirectory { directory in
            func error(_ file: String) -> String? {
                do throws(SupervisorConfigurationError) {
                    _ = try SupervisorConfiguration.load(file: file)
                    return nil
                } catch {
                    return error.description
                }
            }
            #expect(
                error("\(directory)/none")
                    == "\(directory)/none: the configuration cannot be read: No such file or directory"
            )
            #expect(error(directory) == "\(directory): found a directory, expected a configuration file")
            #expect(error("/dev/zero")?.contains("found more than 1MiB") == true)
            #expect(error("a\0b")?.contains("its name has a NUL character") == true)
            #expect(error("/dev/null") == "/dev/null:1:1: found the end of the text, expected a value")
        }
    }
}
