public import DomainEvents
public import EventBridge
public import Supervision

/// A worker that runs inside the test's own process: the code of a real worker, over a link in memory.
///
/// The link behaves like a socket, with the same frames, window and limits, and it can break off. Only the process is
/// missing: if the worker's code crashes, the test crashes.
public struct InMemoryWorker: Sendable {
    package let specification: WorkerSpecification
    let body: @Sendable (EventPublisher) async throws -> [Subscription]

    /// Describes a worker.
    ///
    /// - Parameters:
    ///   - name: the worker's name.
    ///   - subscribes: the events that the worker subscribes to; the host keeps them while the worker is down.
    ///   - publishes: the events that the worker may publish; nil for any.
    ///   - mayImport: whether the worker may import events from other machines.
    ///   - restart: after which kinds of exit the host starts the worker again.
    ///   - isSignificant: whether the worker's end may end all workers.
    ///   - onDemand: whether and how the worker runs only while there are events for it.
    ///   - backoff: the pause before the host starts the worker again.
    ///   - handshakeTimeout: the time from the worker's start until it has to be ready.
    ///   - shutdown: how the host stops the worker.
    ///   - limits: how much the link to the worker holds and accepts.
    ///   - pool: how many members the worker's pool has, and which of them gets an event; one member by default.
    ///   - body: the body that the worker program hands to `BridgeWorker.main`.
    public init(
        _ name: String = "worker",
        subscribes: [any DomainEvent.Type] = [],
        publishes: [any DomainEvent.Type]? = nil,
        mayImport: Bool = false,
        restart: RestartType = .permanent,
        isSignificant: Bool = false,
        onDemand: OnDemand? = nil,
        backoff: Backoff = .exponential(),
        handshakeTimeout: Duration = .seconds(10),
        shutdown: ShutdownSequence = .draining(),
        limits: WorkerLimits = WorkerLimits(),
        pool: WorkerPool? = nil,
        body: @escaping @Sendable (EventPublisher) async throws -> [Subscription]
    ) {
        specification = WorkerSpecification(
            name,
            executable: .path("in memory"),
            subscribes: subscribes,
            publishes: publishes,
            mayImport: mayImport,
            restart: restart,
            isSignificant: isSignificant,
            onDemand: onDemand,
            backoff: backoff,
            handshakeTimeout: handshakeTimeout,
            shutdown: shutdown,
            limits: limits,
            pool: pool
        )
        self.body = body
    }

    /// The worker's own name, or the names of its pool's members.
    var names: [String] {
        let name = specification.name
        return specification.pool?.memberNames(of: name) ?? [name]
    }

    /// Whether only one member of the worker's pool gets an event of this name.
    ///
    /// An event whose name is not in the specification goes to each member that asks for it.
    func shares(_ name: String) -> Bool {
        guard let pool = specification.pool, specification.subscribes.contains(name) else { return false }
        return (pool.keys[name] ?? pool.keys[EventName.everything.text]) != PoolKey.everyMember
    }
}

extension BridgeHost {
    /// Starts a bridge whose only worker runs in this process.
    ///
    /// - Throws: `BridgeError` if the worker does not become ready.
    public static func inMemory(
        _ publisher: EventPublisher,
        worker: @escaping @Sendable (EventPublisher) async throws -> [Subscription]
    ) async throws -> BridgeHost {
        try await inMemory(publisher, workers: [InMemoryWorker(body: worker)])
    }

    /// Starts a bridge whose workers run in this process.
    ///
    /// - Throws: `BridgeError` if a worker does not become ready.
    public static func inMemory(
        _ publisher: EventPublisher,
        workers: [InMemoryWorker],
        intensity: RestartIntensity = RestartIntensity(),
        automaticShutdown: AutomaticShutdown = .never,
        startOrder: StartOrder = .together,
        deadLetters: DeadLetterLimits = DeadLetterLimits(),
        control: ControlSocket? = nil
    ) async throws -> BridgeHost {
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: workers.map(\.specification),
            intensity: intensity,
            automaticShutdown: automaticShutdown,
            startOrder: startOrder,
            deadLetters: deadLetters,
            launcher: InMemoryLauncher(workers),
            control: control
        )
        try await bridge.start()
        return bridge
    }
}
