import BridgePlatform
import DomainEvents
import Locks
import Synchronization

/// Runs a test in many simulated worlds, one for each seed.
///
/// In a world, the same code that runs in production runs on simulated threads, pipes and processes. The seed decides
/// which thread runs next, what fails and what time it is.
///
/// ```swift
/// try await BridgeSimulation(seeds: 200).run { world in
///     let publisher = EventPublisher()
///     try await world.start(publisher, workers: [
///         InMemoryWorker("canvas", subscribes: [BoxOrdered.self]) { publisher in [ … ] }
///     ])
///     for number in 1...100 { try await publisher.send(BoxOrdered(number)) }
///     try await world.rest(within: .seconds(60))
/// }
/// ```
///
/// A seed gives the same run each time, in this process and in others that run the same program. The seed does not
/// decide what a test does outside its world: in a `Task.detached`, on a `DispatchQueue.global()` or in a `Thread`. A
/// run that depends on work outside its world is not repeatable.
public struct BridgeSimulation: Sendable {
    /// The first of the seeds.
    public var firstSeed: UInt64
    /// How many seeds are run, one after the other.
    public var seeds: Int
    /// What may go wrong.
    public var faults: SimulationFaults
    /// How long a world may last in its own time, from its beginning to its end.
    public var longest: Duration
    /// How many steps a world may take; a thread makes a step when it takes a lock or waits.
    public var maximumSteps: Int

    /// The file that a failed run overwrites with its timeline; nil for none.
    ///
    /// The default is the value of the environment variable `EVENT_BRIDGE_TRACE`. The timeline is a trace in the JSON
    /// of Chrome's trace viewer, which Perfetto (`ui.perfetto.dev`) shows. The times in it are the world's own.
    public var timeline: String?

    /// Describes a simulation.
    ///
    /// - Parameters:
    ///   - seeds: how many worlds are run.
    ///   - firstSeed: the seed of the first world; each further world has the next seed, and 0 follows the greatest.
    ///   - faults: what may go wrong.
    ///   - longest: how long a world may last in its own time.
    ///   - maximumSteps: how many steps a world may take.
    public init(
        seeds: Int = 100,
        from firstSeed: UInt64 = 1,
        faults: SimulationFaults = .all,
        longest: Duration = .seconds(3_600),
        maximumSteps: Int = 5_000_000
    ) {
        self.seeds = seeds
        self.firstSeed = firstSeed
        self.faults = faults
        self.longest = longest
        self.maximumSteps = maximumSteps
        timeline = CurrentProcess.environment("EVENT_BRIDGE_TRACE")
    }

    /// Runs `body` in one world for each seed, or only in the world of `EVENT_BRIDGE_CHOICES` if this variable is set.
    ///
    /// - Throws: ``SimulationFailure`` for the first seed whose run failed: `body` threw, an invariant did not hold,
    ///   nothing could go on, or the run did not end. `SimulationError` if a condition of `sometimes` held in no run,
    ///   if faults are allowed and ten or more runs were all untested (see ``SimulationReport/untested``), or if
    ///   `EVENT_BRIDGE_CHOICES` is no list of choices or the run with these choices does not fail.
    @discardableResult
    public func run(
        _ body: @escaping @Sendable (SimulationWorld) async throws -> Void
    ) async throws -> SimulationReport {
        var report = SimulationReport()
        if let text = CurrentProcess.environment("EVENT_BRIDGE_CHOICES") {
            guard let choices = Choices(text: text) else {
                throw SimulationError("EVENT_BRIDGE_CHOICES is no list of choices: \(text)")
            }
            let outcome = await outcome(of: choices, timeline: timeline, body)
            if let failure = outcome.failure { throw failure }
            throw SimulationError("these choices fail no more; \(outcome.unmet) of them were not met")
        }
        for offset in 0..<UInt64(max(0, seeds)) {
            let outcome = await outcome(of: Choices(seed: firstSeed &+ offset), body)
            if outcome.failure != nil { throw await shrunk(outcome, body) }
            report.add(outcome)
        }
        try report.check(self)
        return report
    }

    /// Whether the simulation notices tasks that leave their world.
    private static let watchesTasks = GlobalTasks.watch {
        guard let thread = Simulation.thread as? WorldThread else { return }
        let place = Scheduler.place()
        thread.scheduler.escapes(at: place.isEmpty ? "a place that cannot be named" : place)
    }

    /// The failure with only the choices that it needs.
    private func shrunk(
        _ failed: SimulationOutcome,
        _ body: @escaping @Sendable (SimulationWorld) async throws -> Void
    ) async -> SimulationFailure {
        var shrinker = Shrinker(failed) { list in await outcome(of: Choices(seed: failed.seed, list: list), body) }
        await shrinker.shrink()
        guard var failure = shrinker.best.failure else { preconditionFailure("only failures are kept") }
        failure.choicesBefore = failed.made.count
        if timeline != nil {
            let choices = Choices(seed: failed.seed, list: shrinker.list)
            failure.timeline = await outcome(of: choices, timeline: timeline, body).failure?.timeline
        }
        return failure
    }

    /// The number of worlds so far; it spreads the worlds that run at the same time over the processors.
    private static let turns = Atomic<UInt64>(0)

    /// Runs one world; if it fails, and `timeline` is not nil, writes its timeline to this file.
    func outcome(
        of choices: Choices,
        keepsTrace: Bool = false,
        timeline: String? = nil,
        _ body: @escaping @Sendable (SimulationWorld) async throws -> Void
    ) async -> SimulationOutcome {
        _ = Self.watchesTasks
        let limits = Scheduler.Limits(
            points: UInt64(max(1, maximumSteps)),
            // The clock of a world has no later times.
            nanoseconds: min(longest.nanoseconds, UInt64(Int64.max))
        )
        let isKept = timeline != nil
        let scheduler = Scheduler(choices: choices, limits: limits, keepsTrace: keepsTrace, keepsTurns: isKept)
        let core = WorldCore(scheduler: scheduler, faults: faults, keepsPassages: isKept)
        let world = SimulationWorld(core)
        // The task of `body` is made here, in the caller's task, and so has the caller's task-local values.
        world.begin(body)
        return await withCheckedContinuation { continuation in
            // The scheduler has a thread of its own: the few threads that run Swift's tasks must not wait for its end.
            do {
                try PlatformThread.start(name: "simulation") {
                    CurrentThread.stayOnOneProcessor(turn: Self.turns.wrappingAdd(1, ordering: .relaxed).newValue)
                    let end = scheduler.run()
                    var outcome = SimulationOutcome(world, end)
                    if let timeline, let failure = outcome.failure {
                        outcome.failure?.timeline = WorldTimeline(core, failure).write(to: timeline)
                    }
                    continuation.resume(returning: outcome)
                }
            } catch {
                fatalError("A simulation cannot begin: \(error)")
            }
        }
    }
}
