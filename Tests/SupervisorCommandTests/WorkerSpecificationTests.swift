import EventBridge
import JSONText
import Supervision
import Testing

@testable import SupervisorConfiguration
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
              automaticShutdown: "all-significant", startOrder: "in-sequence",
              deadLetters: { letters: 7, bytes: 4096, whenFull: "evict-oldest" }, workers: [{
                name: "a", executable: "/bin/a", arguments: ["x"], environment: { K: "v" }, directory: "/tmp",
                subscribes: ["E"], publishes: ["F"], mayImport: true, restart: "transient", significant: true, backoff: { initial: "50ms", maximum: "9s" },
                handshake: "2s", heartbeat: { every: "3s", tolerance: 4 }, shutdown: { grace: "6s" },
                limits: { outbox: "128MiB", frame: "1MiB", strikes: 2, handlerDeadline: "20s",
                          output: "64KiB", interestNames: 10, eventNames: 11, controlMessages: 12, frameDeadline: "13s" },
            }] }
            """
        )
        #expect(configuration.restartStrategy == .restForOne)
        #expect(configuration.restartIntensity == RestartIntensity(restarts: 3, within: .seconds(60)))
        #expect(
            configuration.deadLetterLimits == DeadLetterLimits(letters: 7, bytes: 4_096, whenFull: .evictOldest)
        )
        #expect(configuration.bridgeShutdown == .allSignificant)
        #expect(configuration.bridgeStartOrder == .inSequence)
        let expected = WorkerSpecification(
            child: ChildSpecification(
                "a",
                executable: .path("/bin/a"),
                arguments: ["x"],
                environment: ["K": "v"],
                workingDirectory: "/tmp",
                restart: .transient,
                isSignificant: true,
                backoff: .exponential(from: .milliseconds(50), to: .seconds(9)),
                handshakeTimeout: .seconds(2),
                heartbeat: Heartbeat(every: .seconds(3), tolerance: 4),
                shutdown: .draining(grace: .seconds(6))
            ),
            subscribes: ["E"],
            publishes: ["F"],
            mayImport: true,
            limits: WorkerLimits(
                outbox: 128 << 20,
                outboxHardLimit: 128 << 20,
                frame: 1 << 20,
                strikes: 2,
                handlerDeadline: .seconds(20),
                output: 64 << 10,
                interestNames: 10,
                eventNames: 11,
                controlMessages: 12,
                frameDeadline: .seconds(13)
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

    @Test("a box is made of limits and of what may be touched; paths count from the configuration's directory")
    func box() throws {
        let programs = ProgramSearch(
            supervisorDirectory: nil,
            configurationDirectory: "/etc/bridge",
            searchPath: [],
            missing: ConfigurationMistakes()
        )
        let configuration = try parse(
            """
            { workers: [
              { name: "a", executable: "/bin/a",
                limits: { memory: "512MiB", cpuTime: "10s", openFiles: 256, processes: 16, core: 0, fileSize: "1GiB" },
                box: { readOnly: ["maps", "/srv"], writable: ["tiles"], network: false, umask: "077", bestEffort: true } },
              { name: "b", executable: "/bin/b", limits: { openFiles: 32 } },
              { name: "c", executable: "/bin/c", box: {} },
              { name: "d", executable: "/bin/d" },
              { name: "e", executable: "/bin/e", control: true,
                box: { network: false, connections: true } },
            ] }
            """,
            programs: programs
        )
        #expect(
            configuration.workerSpecifications.map(\.box) == [
                WorkerBox(
                    memory: 512 << 20,
                    processorTime: .seconds(10),
                    openFiles: 256,
                    processes: 16,
                    core: 0,
                    fileSize: 1 << 30,
                    files: .init(readOnly: ["/etc/bridge/maps", "/srv"], writable: ["/etc/bridge/tiles"]),
                    allowsNetwork: false,
                    umask: 0o77,
                    isBestEffort: true
                ),
                WorkerBox(openFiles: 32), WorkerBox(), nil,
                WorkerBox(allowsNetwork: false, allowsConnections: true),
            ]
        )
        #expect(configuration.workerSpecifications.map(\.allowsControl) == [false, false, false, false, true])
        #expect(WorkerSpecification.validate(configuration.workerSpecifications).isEmpty)
    }
}

@Suite("What begins and ends together, in a configuration")
struct LivesInConfigurationTests {
    private func mistakes(_ text: String) -> [String] {
        let error = #expect(throws: SupervisorConfigurationError.self) {
            try SupervisorConfiguration.parse(Array(text.utf8), file: "bridge.json5")
        }
        guard case .mistakes(_, let found)? = error else { return [] }
        return found.map { "\($0.path): \($0.message)" }
    }

    @Test("wrong combinations are named, all at once, where they stand")
    func wrongCombinations() {
        #expect(
            mistakes("{ workers: [{ name: 'a', executable: 'a', significant: true }] }") == [
                "workers[0].significant: found true for a permanent worker, which always starts again; expected \"restart\": \"transient\" or \"temporary\"",
                """
                workers[0].significant: found true without an automatic shutdown; expected "automaticShutdown": \
                "any-significant" or "all-significant"
                """,
            ]
        )
        #expect(
            mistakes("{ automaticShutdown: 'any-significant', workers: [{ name: 'a', executable: 'a' }] }") == [
                """
                automaticShutdown: found "any-significant" without a significant worker, expected one with \
                "significant": true
                """
            ]
        )
    }

    @Test("a worker on demand has its idle time, and the mistakes that only one on demand can have")
    func onDemand() throws {
        func specification(_ value: String) throws -> OnDemand? {
            let text = "{ workers: [{ name: 'a', executable: 'a', subscribes: ['E'], onDemand: \(value) }] }"
            return try SupervisorConfiguration.parse(Array(text.utf8), file: "bridge.json5")
                .workerSpecifications[0].child.onDemand
        }
        #expect(try specification("true") == OnDemand())
        #expect(try specification("{}") == OnDemand(idleTime: .seconds(60)))
        #expect(try specification("{ idle: '5s' }") == OnDemand(idleTime: .seconds(5)))
        #expect(try specification("false") == nil)
        #expect(
            mistakes(
                """
                { automaticShutdown: "any-significant",
                  workers: [{ name: "a", executable: "a", restart: "temporary", onDemand: true, significant: true }] }
                """
            ) == [
                "workers[0].onDemand: found a temporary worker, which starts only once; expected \"permanent\" or \"transient\"",
                "workers[0].onDemand: found no event that could start the worker; expected the names of its events in \"subscribes\"",
                "workers[0].significant: found true for a worker on demand, which stops whenever it is idle; expected false",
            ]
        )
    }
}
