import EventBridge
import JSONText
import Supervision
import Testing

@testable import supervisor

@Suite("From configuration to workers")
struct WorkerSpecificationTests {
    private func parse(_ text: String, programs: ProgramSearch? = nil) throws -> SupervisorConfiguration {
        try SupervisorConfiguration.parse(Array(text.utf8), file: "bridge.json5", programs: programs)
    }

    @Test("every setting arrives")
    func everySetting() throws {
        let configuration = try parse(
            """
            { strategy: "rest-for-one", intensity: { restarts: 3, within: "1m" },
              deadLetters: { letters: 7, bytes: 4096, whenFull: "evict-oldest" }, workers: [{
                name: "a", executable: "/bin/a", arguments: ["x"], environment: { K: "v" }, directory: "/tmp",
                subscribes: ["E"], publishes: ["F"], restart: "transient", backoff: { initial: "50ms", maximum: "9s" },
                handshake: "2s", heartbeat: { every: "3s", tolerance: 4 }, shutdown: { grace: "6s" },
                limits: { outbox: "128MiB", frame: "1MiB", strikes: 2, handlerDeadline: "20s",
                          output: "64KiB" },
            }] }
            """
        )
        #expect(configuration.restartStrategy == .restForOne)
        #expect(configuration.restartIntensity == RestartIntensity(restarts: 3, within: .seconds(60)))
        #expect(
            configuration.deadLetterLimits == DeadLetterLimits(letters: 7, bytes: 4_096, whenFull: .evictOldest)
        )
        let expected = WorkerSpecification(
            child: ChildSpecification(
                "a",
                executable: .path("/bin/a"),
                arguments: ["x"],
                environment: ["K": "v"],
                workingDirectory: "/tmp",
                restart: .transient,
                backoff: .exponential(from: .milliseconds(50), to: .seconds(9)),
                handshakeTimeout: .seconds(2),
                heartbeat: Supervision.Heartbeat(every: .seconds(3), tolerance: 4),
                shutdown: .draining(grace: .seconds(6))
            ),
            subscribes: ["E"],
            publishes: ["F"],
            limits: WorkerLimits(
                outbox: 128 << 20,
                outboxHardLimit: 128 << 20,
                frame: 1 << 20,
                strikes: 2,
                handlerDeadline: .seconds(20),
                output: 64 << 10
            )
        )
        #expect(configuration.workerSpecifications == [expected])
    }

    @Test("what the configuration leaves out and its limits are fine for the bridge")
    func defaults() throws {
        let configuration = try parse(
            """
            { workers: [
                { name: "a", executable: "/bin/a" },
                { name: "b", executable: "/bin/b", limits: { outbox: "4KiB", frame: "64KiB" }, shutdown: { grace: "0s" } },
                { name: "c", executable: "/bin/c", limits: { outbox: "1GiB", frame: "1GiB" } },
            ] }
            """
        )
        #expect(WorkerSpecification.validate(configuration.workerSpecifications) == [])
        #expect(configuration.restartIntensity == RestartIntensity())
        #expect(configuration.deadLetterLimits == DeadLetterLimits())
        #expect(configuration.workerSpecifications[0].limits == WorkerLimits())
    }

    @Test("programs are looked for beside the supervisor, then beside the file, then in PATH")
    func candidates() {
        let search = ProgramSearch(
            supervisorDirectory: "/s",
            configurationDirectory: "/c",
            searchPath: ["/p", "/q/"],
            missing: nil
        )
        #expect(search.candidates(for: "w") == ["/s/w", "/c/w", "/p/w", "/q/w"])
        #expect(search.candidates(for: "d/w") == ["/s/d/w", "/c/d/w"])
        #expect(search.candidates(for: "/d/w") == ["/d/w"])
    }

    @Test("a program that is not there is a mistake, or a remark where the others are to run all the same")
    func missingProgram() throws {
        let text =
            "{ workers: [\n  { name: 'a', executable: 'sh' },\n  { name: 'b', executable: 'no-such-worker' },\n] }"
        func search(_ missing: ConfigurationMistakes?) -> ProgramSearch {
            ProgramSearch(
                supervisorDirectory: "/nowhere",
                configurationDirectory: "/nowhere/else",
                searchPath: ["/bin"],
                missing: missing
            )
        }
        let sentence = """
            bridge.json5:3:28: workers[1].executable: there is no program "no-such-worker"; looked for beside the \
            supervisor (/nowhere), then from the configuration's directory (/nowhere/else), then in PATH
            """
        let error = #expect(throws: SupervisorConfigurationError.self) { try parse(text, programs: search(nil)) }
        #expect(error?.description == sentence)
        #expect(error?.status == .configuration)
        let missing = ConfigurationMistakes()
        let configuration = try parse(text, programs: search(missing))
        #expect(configuration.workers.map(\.executable) == ["/bin/sh", "/nowhere/no-such-worker"])
        #expect(SupervisorConfigurationError.mistakes(file: "bridge.json5", missing.all).description == sentence)
    }
}
