public import DomainEvents
public import Supervision

/// Describes a worker: which program it runs, which events it gets, and how it is kept running.
///
/// ```swift
/// WorkerSpecification(
///     "provisioning",
///     executable: .beside("provisioning-worker"),
///     subscribes: [BoxOrdered.self, ItemReceived.self]
/// )
/// ```
public struct WorkerSpecification: Sendable, Hashable {
    /// How the worker's process is started, watched, restarted and stopped; the worker's name is the child's.
    public var child: ChildSpecification

    /// The names of the events that the worker subscribes to.
    ///
    /// The host keeps these events for the worker between two starts; the worker is ready only when it has subscribed
    /// to all of them. The worker may also subscribe to other events, which it gets only while it runs.
    public var subscribes: [String]

    /// The names of the events that the worker may publish; nil for any.
    ///
    /// The host refuses events of other names from the worker. What the worker's runtime reports of its own events and
    /// handlers (`EventRefused`, `EventsDropped`, `EventsTraced`, `HandlerFailed`) always passes, so that the host,
    /// too, learns of a refusal.
    public var publishes: [String]?

    /// Whether the worker may import events of other machines, as a gateway does; false by default.
    ///
    /// Such an event keeps its identity, time, cause and trace. Its origin has the form `node/process`, so the worker
    /// cannot speak for a process of this bridge. ``publishes`` holds for these events, too. A worker without this
    /// right that sends such an event breaks the protocol.
    public var mayImport: Bool

    /// The limits of the worker's link, of its handlers and of its output.
    public var limits: WorkerLimits

    /// What the worker may use up and touch; nil, the default, for all that the supervisor may.
    public var box: WorkerBox?

    /// Whether the worker, and what it starts, may attach to the host's control socket; false by default.
    ///
    /// An attached process sees and publishes events of all names, and may command the host. The host recognises a
    /// process of the worker by its parents, its process group or a mark in its environment. It does not recognise a
    /// process that leaves all three behind: without a box, a worker can always do what its user may. In a box without
    /// network the worker can connect to no socket; see ``WorkerBox/allowsConnections``.
    public var allowsControl: Bool

    /// How many workers run by this specification, and which of them gets an event; nil for one worker, with the
    /// specification's name.
    public var pool: WorkerPool?

    /// The worker's name: 1 to 64 of the characters A to Z, a to z, 0 to 9, `.`, `_` and `-`, and not `host`.
    public var name: String { child.name }

    /// Describes a worker by its event types; see `ChildSpecification` for the parameters that are no properties here.
    public init(
        _ name: String,
        executable: ExecutableLocation,
        arguments: [String] = [],
        environment: [String: String] = [:],
        workingDirectory: String? = nil,
        subscribes: [any DomainEvent.Type] = [],
        publishes: [any DomainEvent.Type]? = nil,
        mayImport: Bool = false,
        restart: RestartType = .permanent,
        isSignificant: Bool = false,
        onDemand: OnDemand? = nil,
        backoff: Backoff = .exponential(),
        handshakeTimeout: Duration = .seconds(10),
        heartbeat: Heartbeat = Heartbeat(),
        shutdown: ShutdownSequence = .draining(),
        limits: WorkerLimits = WorkerLimits(),
        pool: WorkerPool? = nil,
        box: WorkerBox? = nil,
        allowsControl: Bool = false
    ) {
        self.init(
            child: ChildSpecification(
                name,
                executable: executable,
                arguments: arguments,
                environment: environment,
                workingDirectory: workingDirectory,
                restart: restart,
                isSignificant: isSignificant,
                onDemand: onDemand,
                backoff: backoff,
                handshakeTimeout: handshakeTimeout,
                heartbeat: heartbeat,
                shutdown: shutdown
            ),
            subscribes: subscribes.map { $0.eventName },
            publishes: publishes.map { $0.map { $0.eventName } },
            mayImport: mayImport,
            limits: limits,
            pool: pool,
            box: box,
            allowsControl: allowsControl
        )
    }

    /// Describes a worker by the names of its events.
    public init(
        child: ChildSpecification,
        subscribes: [String],
        publishes: [String]? = nil,
        mayImport: Bool = false,
        limits: WorkerLimits = WorkerLimits(),
        pool: WorkerPool? = nil,
        box: WorkerBox? = nil,
        allowsControl: Bool = false
    ) {
        self.allowsControl = allowsControl
        self.pool = pool
        self.box = box
        self.child = child
        self.subscribes = subscribes
        self.publishes = publishes
        self.mayImport = mayImport
        self.limits = limits
    }

    /// Finds every mistake in a list of specifications, each as a sentence; empty if there is none.
    ///
    /// - Parameters:
    ///   - specifications: the workers of one bridge.
    ///   - automaticShutdown: the bridge's automatic shutdown, which must fit the significant workers.
    public static func validate(
        _ specifications: [WorkerSpecification],
        automaticShutdown: AutomaticShutdown = .never
    ) -> [String] {
        var mistakes = ChildSpecification.validate(
            specifications.map(\.child),
            automaticShutdown: automaticShutdown
        )
        for specification in specifications {
            let isValid =
                (1...64).contains(specification.name.utf8.count) && specification.name != "host"
                && specification.name.utf8.allSatisfy(isNameCharacter)
            if !isValid {
                mistakes.append(
                    """
                    worker "\(specification.name)": a name has 1 to 64 of the characters A-Z, a-z, 0-9, ".", "_", "-" \
                    and is not "host"
                    """
                )
            }
            if specification.child.onDemand != nil, specification.subscribes.isEmpty {
                mistakes.append(
                    "worker \"\(specification.name)\": it is on demand, but subscribes to no event that could start it"
                )
            }
            let names =
                specification.subscribes.compactMap { EventName.mistake(in: $0, mayBeEverything: true) }
                + (specification.publishes ?? []).compactMap { EventName.mistake(in: $0) }
            let further = names + specification.limits.validate() + (specification.box?.validate() ?? [])
            mistakes += further.map { "worker \"\(specification.name)\": \($0)" }
        }
        return mistakes + validatePools(specifications)
    }

    private static func validatePools(_ specifications: [WorkerSpecification]) -> [String] {
        var mistakes: [String] = []
        for specification in specifications {
            let (name, pool) = (specification.name, specification.pool)
            let found = pool?.validate(name: name, subscribes: specification.subscribes) ?? []
            mistakes += found.map { "worker \"\(name)\": \($0)" }
            guard let pool, found.isEmpty else { continue }
            let members = Set(pool.memberNames(of: name))
            for other in specifications where members.contains(other.name) {
                mistakes.append("worker \"\(other.name)\": a member of the pool \"\(name)\" has this name")
            }
        }
        return mistakes
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
