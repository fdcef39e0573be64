import BridgePlatform
import DomainEvents
import EventBridge
import Locks
import Testing

@testable import EventBridgeTesting

/// What a simulation reports about itself: what failed, what was not tested, what work left it.
@Suite(.timeLimit(.minutes(5)))
struct SimulationKitTests {
    private func failure(
        _ simulation: BridgeSimulation,
        _ body: @escaping @Sendable (SimulationWorld) async throws -> Void
    ) async -> SimulationFailure? {
        do {
            try await simulation.run(body)
            return nil
        } catch {
            return error as? SimulationFailure
        }
    }

    /// A scenario that fails if a worker crashed while it had something to do.
    @Sendable private static func fragile(_ world: SimulationWorld) async throws {
        let publisher = EventPublisher()
        let handled = Fates()
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("fragile", subscribes: [Asked.self]) { publisher in
                    [publisher.subscribe(to: Asked.self) { (_: Asked) in handled.handles() }]
                }
            ]
        )
        for number in 0..<20 { handled.accepts(try await publisher.send(Asked(number: number))) }
        try await world.rest(within: .seconds(60))
        try handled.checkOnce("questions")
    }

    @Test("A failure has few choices, a story, and repeats")
    func shrinks() async throws {
        let failure = try #require(await failure(BridgeSimulation(seeds: 1_000), Self.fragile))
        #expect(failure.reason.contains("handled more than once"))
        #expect(failure.choiceCount <= 10)
        #expect(failure.choicesBefore > failure.choiceCount)
        #expect(failure.story.contains { $0.contains("crashes with signal") })
        let choices = try #require(Choices(text: failure.choices))
        for _ in 0..<3 {
            let again = await BridgeSimulation().outcome(of: choices, Self.fragile)
            #expect(again.failure?.reason == failure.reason)
            #expect(again.failure?.story == failure.story)
        }
    }

    @Test("Choices of an older program are met as far as they fit")
    func oldChoices() async throws {
        let choices = try #require(Choices(text: "7 swarm@1=9 worker_gone@258=12 thread@3=77"))
        let outcome = await BridgeSimulation().outcome(of: choices, Self.fragile)
        #expect(outcome.failure == nil)
        #expect(outcome.unmet > 0)
    }

    @Test(
        "A matter of any name is one word, and comes back",
        arguments: ["worker my_app", "client:a b=c@d", "exit:\u{e9}\n%"]
    )
    func namesOfMatters(matter: String) throws {
        let list: Choices.List = [
            Choices.Place(matter: matter, index: 5): 3,
            Choices.Place(matter: "clock", index: 1): 2,
        ]
        let read = try #require(Choices(text: Choices.text(seed: 9, list)))
        #expect(read.list == list)
    }

    @Test("A world's longest time may be any: shorter than a second, or longer than there is", .timeLimit(.minutes(2)))
    func longest() async {
        let short = BridgeSimulation(seeds: 1, faults: .none, longest: .milliseconds(500))
        #expect(await failure(short) { try await $0.sleep(for: .milliseconds(400)) } == nil)
        let late = await failure(short) { try await $0.sleep(for: .milliseconds(600)) }
        #expect(late?.reason == "the run has no end: more than 0.5 seconds of its time")
        let endless = BridgeSimulation(seeds: 1, faults: .none, longest: .seconds(Int64.max))
        #expect(await failure(endless) { try await $0.sleep(for: .seconds(3_600)) } == nil)
    }

    @Test("What holds at no moment of any run is said")
    func sometimes() async {
        await #expect(throws: SimulationError.self) {
            try await BridgeSimulation(seeds: 3).run { world in
                world.sometimes("pigs fly") { false }
                try await Self.fragile(world)
            }
        }
    }

    @Test("What does not hold at some moment ends the run with its name")
    func always() async {
        let failure = await failure(BridgeSimulation(seeds: 1)) { world in
            let count = Received()
            world.always("fewer than five arrive") { count.all.count < 5 }
            let publisher = EventPublisher()
            let worker = InMemoryWorker("counting", subscribes: [Asked.self]) { publisher in
                [publisher.subscribe(to: Asked.self) { count.add($0.number) }]
            }
            try await world.start(publisher, workers: [worker])
            for number in 0..<10 { _ = try await publisher.send(Asked(number: number)) }
            try await world.rest(within: .seconds(60))
        }
        #expect(failure?.reason == "it does not hold that fewer than five arrive")
    }

    @Test("A deadlock of the test's own is named with the functions that wait")
    func deadlock() async {
        let failure = await failure(BridgeSimulation(seeds: 1, faults: .none)) { _ in waitForEver() }
        #expect(failure?.reason.hasPrefix("nothing can go on") == true)
        #expect(failure?.reason.contains("waitForEver") == true, "\(failure?.reason ?? "no failure")")
    }

    @Test("A task that leaves the simulation is named with its place")
    func escape() async throws {
        let report = try await BridgeSimulation(seeds: 1, faults: .none).run { world in
            startOutside()
            try await world.sleep(for: .milliseconds(1))
        }
        #expect(report.escapes.contains { $0.contains("startOutside") }, "\(report.escapes)")
    }

    @Test("A world waits for what has left it")
    func outside() async throws {
        let report = try await BridgeSimulation(seeds: 1, faults: .none).run { _ in
            let value = await Task.detached { 7 }.value
            guard value == 7 else { throw SimulationError("\(value)") }
        }
        #expect(!report.escapes.isEmpty)
    }

    @Test("What a test says with #expect belongs to it")
    func taskLocals() async throws {
        try await Self.$marked.withValue(true) {
            try await BridgeSimulation(seeds: 1, faults: .none).run { _ in
                guard Self.marked else { throw SimulationError("the task's own values are gone") }
            }
        }
    }

    @TaskLocal private static var marked = false

    @Test("Runs in which no fault meets an event are said to test nothing")
    func untested() async {
        await #expect(throws: SimulationError.self) {
            try await BridgeSimulation(seeds: 10).run { world in try await world.sleep(for: .seconds(1)) }
        }
    }

    @Test("A loop without an end ends by the limit of steps")
    func endless() async {
        let failure = await failure(BridgeSimulation(seeds: 1, faults: .none, maximumSteps: 10_000)) { world in
            while true { try await world.sleep(for: .microseconds(1)) }
        }
        #expect(failure?.reason.hasPrefix("the run has no end: more than 10000 steps") == true)
    }
}

@inline(never)
func waitForEver() {
    let lock = Lock()
    let condition = Condition(lock: lock)
    lock.withLock { while true { condition.wait() } }
}

@inline(never)
private func startOutside() {
    Task.detached {}
}
