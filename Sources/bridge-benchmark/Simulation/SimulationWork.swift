import BridgePlatform
import DomainEvents
import EventBridge
import EventBridgeTesting
import Locks

/// Measures the cost of simulated worlds in processor time: only one thread of a world runs at a time.
enum SimulationWork {
    private struct WorldAsked: DomainEvent, Codable {
        let number: Int
    }

    private struct WorldAnswered: DomainEvent, Codable {
        let number: Int
    }

    /// The numbers of the answers that have come.
    private final class Answers: @unchecked Sendable {
        // Sendable: guarded by `lock`.
        private let lock = Lock()
        private var numbers: Set<Int> = []

        var count: Int { lock.withLock { numbers.count } }

        func add(_ number: Int) { lock.withLock { _ = numbers.insert(number) } }
    }

    /// Runs `count` worlds, each with 100 events, two workers, and a crash of one of them.
    static func runWorlds(_ count: Int64) async throws {
        try await measure("simulation", worlds: count) { world in
            world.crash("answering", whenHandling: WorldAsked.self)
            try await ask(in: world, events: 100)
        }
    }

    /// Runs one world in which two workers get an event each second, for `seconds` seconds.
    static func runTime(seconds: Int64) async throws {
        try await measure("simulation-time", worlds: 1) { world in
            try await ask(in: world, events: Int(seconds), every: .seconds(1))
        }
    }

    private static func measure(
        _ work: String,
        worlds: Int64,
        _ body: @escaping @Sendable (SimulationWorld) async throws -> Void
    ) async throws {
        let begin = CurrentProcess.processorNanoseconds()
        let report = try await BridgeSimulation(seeds: Int(worlds), faults: .none).run(body)
        let time = CurrentProcess.processorNanoseconds() - begin
        Report.worlds(work, worlds, simulated: report.simulatedTime, nanoseconds: time)
    }

    private static func ask(in world: SimulationWorld, events: Int, every pause: Duration = .zero) async throws {
        let publisher = EventPublisher()
        let answers = Answers()
        let kept = publisher.subscribe(to: WorldAnswered.self) { answers.add($0.number) }
        try await world.start(
            publisher,
            workers: [
                InMemoryWorker("answering", subscribes: [WorldAsked.self]) { publisher in
                    [publisher.subscribe(to: WorldAsked.self) { publisher.publish(WorldAnswered(number: $0.number)) }]
                },
                InMemoryWorker("listening", subscribes: [WorldAnswered.self]) { publisher in
                    [publisher.subscribe(to: WorldAnswered.self) { (_: WorldAnswered) in }]
                },
            ]
        )
        for number in 0..<events {
            try await publisher.send(WorldAsked(number: number))
            if pause > .zero { try await world.sleep(for: pause) }
        }
        try await world.rest(within: .seconds(60))
        guard answers.count == events else { throw SimulationError("\(answers.count) of \(events) answers came") }
        withExtendedLifetime(kept) {}
    }
}
