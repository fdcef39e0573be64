import BridgePlatform
public import DomainEvents
public import EventBridge
import Locks
public import Supervision

/// One simulated world: a host, its workers and what becomes of them, all decided by a seed.
///
/// It is there for the body of ``BridgeSimulation/run(_:)`` and for what that starts. Its time passes only when nothing can go on.
public final class SimulationWorld: @unchecked Sendable {
    // Sendable: everything mutable belongs to whichever thread has the world's baton, or is read when the world has ended.
    let core: WorldCore
    private var hosts: [(host: BridgeHost, launcher: SimulatedLauncher)] = []
    private(set) var sealed: Seal?
    private var drawn: UInt64 = 0

    /// What a run has come to.
    struct Seal: Sendable {
        let digest: UInt64
        let steps: UInt64
        let nanoseconds: UInt64

        init(_ scheduler: Scheduler) {
            digest = scheduler.trace.digest
            steps = scheduler.points
            nanoseconds = scheduler.now - Scheduler.beginning
        }
    }

    init(_ core: WorldCore) {
        self.core = core
    }

    /// What decides this world.
    public var seed: UInt64 { core.scheduler.choices.seed }

    /// The time since the world's beginning.
    public var time: Duration { .nanoseconds(Int64(clamping: core.scheduler.now - Scheduler.beginning)) }

    // MARK: - Life

    /// Runs `body` as the world's first task, then ends what it has left.
    ///
    /// Outside the world, before that begins.
    func begin(_ body: @escaping @Sendable (SimulationWorld) async throws -> Void) {
        Task(executorPreference: core.scheduler.host.executor) { [self] in
            do {
                try await body(self)
            } catch {
                core.fail("\(error)")
            }
            core.check()
            core.calm()
            for (host, _) in hosts { await host.shutdown() }
            sealed = Seal(core.scheduler)
            core.isSealed = true
            hosts = []
            for worker in core.workers { worker.bury() }
            core.workers = []
            core.scheduler.close()
        }
    }

    // MARK: - Hosts and workers

    /// Starts a host whose workers are processes of this world, and returns when they are ready.
    ///
    /// - Throws: `BridgeError` if a worker does not become ready.
    @discardableResult
    public func start(
        _ publisher: EventPublisher,
        workers: [InMemoryWorker],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(restarts: 1_000, within: .seconds(1)),
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        deadLetters: DeadLetterLimits = DeadLetterLimits()
    ) async throws -> BridgeHost {
        let launcher = SimulatedLauncher(workers, in: core)
        let host = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startOrder: startOrder,
            deadLetters: deadLetters,
            launcher: launcher,
            tap: core.tap(of: "host"),
            tapsUnwanted: false
        )
        hosts.append((host, launcher))
        try await host.start()
        return host
    }

    /// Lets a host of this world have these workers from now on, as `BridgeHost.apply` does.
    @discardableResult
    public func apply(
        _ workers: [InMemoryWorker],
        to host: BridgeHost,
        finishingWithin limit: Duration = .seconds(30)
    ) async throws -> AppliedChanges {
        hosts.first { $0.host === host }?.launcher.add(workers)
        return try await host.apply(workers.map(\.specification), finishingWithin: limit)
    }

    /// Starts a task of the simulated process whose code calls this; what it throws but for a cancellation fails the run.
    public func task(_ body: @escaping @Sendable () async throws -> Void) {
        let core = core
        Task(executorPreference: Simulation.taskExecutor) {
            do {
                try await body()
            } catch is CancellationError {
            } catch {
                core.fail("a task threw: \(error)")
            }
        }
    }

    /// A number that the seed decides, for what the test itself leaves to chance.
    public func number(below bound: Int) -> Int {
        drawn += 1
        let bound = UInt64(max(1, bound))
        return Int(core.scheduler.choices.choose("test", drawn, below: bound) { $0.next(below: bound) })
    }

    /// What has gone wrong in this run so far, and how often.
    public var faultsMet: [String: Int] { core.met }

    /// Something does not hold: the run has failed.
    public func fail(_ reason: String) { core.fail(reason) }

    /// Adds a line to the story that a failure tells.
    public func note(_ text: String) { core.tell(text) }

    /// Suspends the calling task for that long in the world's time.
    public func sleep(for duration: Duration) async throws {
        try await Simulation.thread?.sleep(for: duration)
    }

    // MARK: - What has to hold

    /// Says what holds at every moment: looked at whenever an event has arrived anywhere, and at the end.
    ///
    /// - Parameter holds: called on any thread of the world; short, and waits for nothing but locks.
    public func always(_ name: String, _ holds: @escaping @Sendable () -> Bool) { core.always(name, holds) }

    /// Says what holds at some moment of some run: a simulation in which it never did has not tested it, and fails.
    ///
    /// - Parameter holds: as for ``always(_:_:)``.
    public func sometimes(_ name: String, _ holds: @escaping @Sendable () -> Bool) { core.sometimes(name, holds) }

    // MARK: - Faults by hand

    /// Ends the worker's process now, where it stands.
    public func crash(_ worker: String, _ exit: SimulatedExit = .signal(9)) {
        guard let process = core.workers.last(where: { $0.name == worker && !$0.hasEnded }) else { return }
        core.wasMet("crash")
        process.end(exit, because: "is ended: \(exit)")
    }

    /// Ends the simulated process whose code calls this, at once: what `exit` and `fatalError` do in a process of its own.
    public func exitHere(_ exit: SimulatedExit) {
        let process = core.scheduler.current()?.process
        guard let worker = core.workers.last(where: { $0.process === process }) else { return }
        core.wasMet("exit")
        worker.end(exit, because: "ends itself: \(exit)")
        core.scheduler.yieldIfDead()
    }

    /// Ends the worker's process when a handler of its next start is called with an event of this type, in the place of that handler.
    public func crash<E: DomainEvent>(
        _ worker: String,
        whenHandling type: E.Type,
        _ exit: SimulatedExit = .signal(9)
    ) {
        let core = core
        core.doomed[worker, default: []].append(
            WorldCore.Doom(event: E.eventName, exit: exit) { publisher, act in
                publisher.subscribe(to: type) { (_: E) in
                    core.wasMet("crash")
                    act()
                }
            }
        )
    }

    /// Lets the worker's process stand still for that long, as SIGSTOP does.
    public func stop(_ worker: String, for duration: Duration) {
        guard let process = core.workers.last(where: { $0.name == worker && !$0.hasEnded })?.process else { return }
        core.wasMet("stop")
        core.tell("\(worker) stands still for \(duration)")
        process.isStopped = true
        let (seconds, attoseconds) = duration.components
        let length = UInt64(clamping: seconds) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000
        core.scheduler.at(core.scheduler.now + length) { process.isStopped = false }
    }

    // MARK: - Rest

    /// Ends all faults, and returns when everything that was accepted has been handled and nothing moves any more.
    ///
    /// - Throws: ``SimulationError`` if that takes longer, or if what is at rest is not as it should be.
    public func rest(within limit: Duration) async throws {
        core.calm()
        for (host, _) in hosts {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    await host.waitUntilIdle()
                    return true
                }
                group.addTask { [self] in
                    try await sleep(for: limit)
                    return false
                }
                let isAtRest = try await group.next() ?? false
                guard isAtRest else { throw SimulationError("no rest within \(limit): \(host.status)") }
                group.cancelAll()
            }
            try checkRest(of: host)
        }
        core.check()
        core.tell("everything is at rest")
    }

    private func checkRest(of host: BridgeHost) throws {
        for worker in host.statistics {
            for (direction, counts) in [("to", worker.sent), ("from", worker.received)] where !counts.isBalanced {
                throw SimulationError("the ledger of events \(direction) \(worker.worker) does not balance: \(counts)")
            }
        }
    }
}

/// What did not hold in a simulated world.
public struct SimulationError: Error, Sendable, CustomStringConvertible {
    /// What did not hold.
    public let description: String

    /// Says what did not hold.
    public init(_ description: String) {
        self.description = description
    }
}
