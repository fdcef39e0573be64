import BridgePlatform
public import DomainEvents
public import EventBridge
import Locks
public import Supervision

/// One simulated world: a host, its workers and what becomes of them, all decided by a seed.
///
/// It is there for the body of ``BridgeSimulation/run(_:)`` and for what that starts. Its time passes only when nothing
/// can go on.
public final class SimulationWorld: @unchecked Sendable {
    // Sendable: everything mutable belongs to whichever thread has the world's baton, or is read when the world has
    // ended.
    let core: WorldCore
    private(set) var programs: [SimulatedHost] = []
    private var clients: [SimulatedClient] = []
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
            for client in clients { await client.close() }
            for program in programs { await program.waitUntilRunning() }
            for host in core.hosts { await host.bridge.shutdown() }
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

    /// Starts a host whose workers are processes of this world, and returns when they are ready.
    ///
    /// `control` lets clients of the world attach; its path stands for nothing. Everything else is as for `BridgeHost`.
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

    /// Starts a host in a process of its own, which can be killed at any step and is then started again, and returns
    /// when `program` has returned in one of these processes.
    ///
    /// `program` is what the process does, anew in each: it subscribes, calls `start` on the bridge, and publishes.
    /// What it returns is kept for as long as the process lives. What it throws fails the run. Everything else is as
    /// for ``start(_:workers:strategy:intensity:automaticShutdown:startOrder:deadLetters:control:)``.
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

    /// Starts a process that attaches to the world's host, and returns when it has, or has ended.
    ///
    /// - Parameters:
    ///   - name: what the client calls itself.
    ///   - body: what the client's program does before it attaches; what it returns is kept for as long as the process
    ///     lives.
    @discardableResult
    public func attach(
        _ name: String = "client",
        body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]
    ) async -> SimulatedClient {
        let client = SimulatedClient(name, in: core)
        clients.append(client)
        await client.begin(body)
        return client
    }

    /// Lets a host of this world have these workers from now on, as `BridgeHost.apply` does.
    @discardableResult
    public func apply(
        _ workers: [InMemoryWorker],
        to host: BridgeHost,
        finishingWithin limit: Duration = .seconds(30)
    ) async throws -> AppliedChanges {
        core.hosts.first { $0.bridge === host }?.launcher.add(workers)
        return try await host.apply(workers.map(\.specification), finishingWithin: limit)
    }

    /// Starts a task of the simulated process whose code calls this; what it throws but for a cancellation fails the
    /// run.
    ///
    /// - Returns: The task, to wait for its end. In a process that ends it never does.
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
        try core.checkOpen()
        try await Simulation.thread?.sleep(for: duration)
        try core.checkOpen()
    }

    // MARK: - What has to hold

    /// Says what holds at every moment: looked at whenever an event has arrived anywhere, and at the end.
    ///
    /// - Parameters:
    ///   - name: what a failure calls it.
    ///   - holds: called on any thread of the world; short, and waits for nothing but locks.
    public func always(_ name: String, _ holds: @escaping @Sendable () -> Bool) { core.always(name, holds) }

    /// Says what holds at some moment of some run: a simulation in which it never did has not tested it, and fails.
    ///
    /// - Parameters:
    ///   - name: what a failure calls it.
    ///   - holds: as for ``always(_:_:)``.
    public func sometimes(_ name: String, _ holds: @escaping @Sendable () -> Bool) { core.sometimes(name, holds) }
}
