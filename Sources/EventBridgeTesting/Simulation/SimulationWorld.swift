import BridgePlatform
public import DomainEvents
public import EventBridge
import Locks
public import Supervision

/// One simulated world: a host, its workers and all that happens to them, decided by a seed.
///
/// A world exists for the body of ``BridgeSimulation/run(_:)`` and for the work that the body starts. Each step takes
/// some nanoseconds of the world's time; when nothing can go on, the time jumps to the next deadline.
public final class SimulationWorld: @unchecked Sendable {
    // Sendable: everything mutable belongs to the thread that has the world's baton, or is read after the world's end.
    let core: WorldCore
    private(set) var programs: [SimulatedHost] = []
    private var clients: [SimulatedClient] = []
    private(set) var sealed: Seal?
    private var drawn: UInt64 = 0

    /// The totals of a run when it was over.
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

    /// The seed that decides this world.
    public var seed: UInt64 { core.scheduler.choices.seed }

    /// The time since the world's beginning.
    public var time: Duration { .nanoseconds(Int64(clamping: core.scheduler.now - Scheduler.beginning)) }

    // MARK: - Life

    /// Runs `body` as the world's first task, then shuts down the clients and hosts that `body` has left running.
    ///
    /// The caller is outside the world, which has not begun yet.
    func begin(_ body: @escaping @Sendable (SimulationWorld) async throws -> Void) {
        Task(executorPreference: core.scheduler.host.executor) { [self] in
            do {
                try await body(self)
            } catch {
                core.fail("\(error)")
            }
            core.check()
            core.calm()
            for client in clients { await client.close() }
            for program in programs { await program.waitUntilRunning() }
            for host in core.hosts {
                let report = await host.bridge.shutdown()
                if let mistake = core.auditEnd(of: host, report) { core.fail(mistake) }
            }
            sealed = Seal(core.scheduler)
            core.isSealed = true
            for program in programs { program.finish() }
            (programs, clients, core.hosts) = ([], [], [])
            for process in core.processes { process.bury() }
            core.processes = []
            core.scheduler.close()
        }
    }

    // MARK: - Hosts and workers

    /// Starts a host whose workers are processes of this world, and returns when the workers are ready.
    ///
    /// With `control`, clients of the world can attach; the socket's path has no meaning. Everything else is as for
    /// `BridgeHost`.
    /// - Throws: `BridgeError` if a worker does not become ready.
    @discardableResult
    public func start(
        _ publisher: EventPublisher,
        workers: [InMemoryWorker],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(restarts: 1_000, within: .seconds(1)),
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        control: ControlSocket? = nil
    ) async throws -> BridgeHost {
        let description = HostDescription(
            workers: workers,
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startOrder: startOrder,
            deadLetters: deadLetters,
            control: control
        )
        let host = try description.make(publisher, in: core).bridge
        try await host.start()
        return host
    }

    /// Starts a host in a process of its own; after each kill, the world starts the host again, in another process.
    ///
    /// A kill can end a process at any step. Each process runs `program`, which subscribes, calls `start` on the
    /// bridge, and publishes. This call returns when `program` has returned in one of the processes. The subscriptions
    /// that `program` returns are kept for as long as its process lives. An error that `program` throws fails the run.
    /// Everything else is as for
    /// ``start(_:workers:strategy:intensity:automaticShutdown:startOrder:deadLetters:control:)``.
    @discardableResult
    public func startHost(
        workers: [InMemoryWorker],
        strategy: RestartStrategy = .oneForOne,
        intensity: RestartIntensity = RestartIntensity(restarts: 1_000, within: .seconds(1)),
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        control: ControlSocket? = nil,
        program: @escaping @Sendable (EventPublisher, BridgeHost) async throws -> [Subscription]
    ) async -> SimulatedHost {
        let description = HostDescription(
            workers: workers,
            strategy: strategy,
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startOrder: startOrder,
            deadLetters: deadLetters,
            control: control
        )
        let made = SimulatedHost(description, in: core, program: program)
        programs.append(made)
        await made.begin()
        return made
    }

    /// Starts a process that attaches to the world's host, and returns when it has attached or has ended.
    ///
    /// - Parameters:
    ///   - name: the client's name for itself.
    ///   - body: what the client's program does before the client attaches; the subscriptions that it returns are kept
    ///     for as long as the process lives.
    @discardableResult
    public func attach(
        _ name: String = "client",
        body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]
    ) async -> SimulatedClient {
        await attach(name, wantsEverything: false, body: body)
    }

    /// Starts a client as ``attach(_:body:)`` does.
    ///
    /// - Parameter wantsEverything: whether the host sends the client all events that pass.
    func attach(
        _ name: String,
        wantsEverything: Bool,
        body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]
    ) async -> SimulatedClient {
        let client = SimulatedClient(name, wantsEverything: wantsEverything, in: core)
        clients.append(client)
        await client.begin(body)
        return client
    }

    /// Replaces the workers of a host of this world by these workers, as `BridgeHost.apply` does.
    @discardableResult
    public func apply(
        _ workers: [InMemoryWorker],
        to host: BridgeHost,
        finishingWithin limit: Duration = .seconds(30)
    ) async throws -> AppliedChanges {
        core.hosts.first { $0.bridge === host }?.launcher.replaceAll(by: workers)
        return try await host.apply(workers.map(\.specification), finishingWithin: limit)
    }

    /// Starts a task in the caller's simulated process.
    ///
    /// If the task throws an error other than `CancellationError`, the run fails.
    /// - Returns: The task, so that the test can wait for its end; if its process ends first, the task never ends.
    @discardableResult
    public func task(_ body: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
        let core = core
        return Task(executorPreference: Simulation.taskExecutor) {
            do {
                try await body()
            } catch is CancellationError {
            } catch {
                core.fail("a task threw: \(error)")
            }
        }
    }

    /// Returns a number below `bound` that the seed decides, for choices that the test itself leaves to chance.
    public func number(below bound: Int) -> Int {
        drawn += 1
        let bound = UInt64(max(1, bound))
        return Int(core.scheduler.choices.choose("test", drawn, below: bound) { $0.next(below: bound) })
    }

    /// How often each kind of fault has happened in this run so far, by its name.
    public var faultsMet: [String: Int] { core.met }

    /// Fails the run for this reason.
    public func fail(_ reason: String) { core.fail(reason) }

    /// Adds a line to the story of a failure.
    public func note(_ text: String) { core.tell(text) }

    /// Suspends the calling task for this duration of the world's time.
    public func sleep(for duration: Duration) async throws {
        try core.checkOpen()
        try await Simulation.thread?.sleep(for: duration)
        try core.checkOpen()
    }

    // MARK: - What has to hold

    /// Adds a condition that must hold at every moment; it is checked after each arrival of an event, and at the end.
    ///
    /// - Parameters:
    ///   - name: the condition's name in a failure.
    ///   - holds: called on any thread of the world; must be short, and may wait only for locks.
    public func always(_ name: String, _ holds: @escaping @Sendable () -> Bool) { core.always(name, holds) }

    /// Adds a condition that must hold at some moment of some run; the simulation fails if it never held.
    ///
    /// - Parameters:
    ///   - name: the condition's name in a failure.
    ///   - holds: as for ``always(_:_:)``.
    public func sometimes(_ name: String, _ holds: @escaping @Sendable () -> Bool) { core.sometimes(name, holds) }
}
