import BridgePlatform
import ChaosLedger
import DomainEvents
import EventBridge
import Supervision

/// The workers of a run as a list of specifications, which reloads change.
struct WorkerRoster: Sendable {
    /// How long a worker on demand must have nothing to do before it ends.
    private static let idleTime = Duration.milliseconds(60)
    private static let poolMembers = 3
    /// How long a worker has to finish its events; then SIGTERM ends it, which is a death.
    static let grace = Duration.seconds(10)
    /// The grace of a worker that never says goodbye, because events are always on their way to it.
    private static let shortGrace = Duration.seconds(2)
    /// The size of the outbox, in bytes, above which the overflow policies act.
    private static let lossyOutbox = 128 << 10
    private static let slowOutbox = 1 << 20

    private let options: DriverOptions
    private let folder: String
    private(set) var specifications: [WorkerSpecification] = []
    private var changes = 0
    private var guests = 1

    init(_ options: DriverOptions, folder: String) {
        self.options = options
        self.folder = folder
        specifications = Party.allCases.compactMap { specification($0) }
    }

    /// The names of the specifications, as a reload reports them.
    var names: Set<String> { Set(specifications.map(\.name)) }

    /// The names of all workers; for a pool the names of its members.
    var workers: [String] {
        specifications.flatMap { specification in
            specification.pool.map { $0.memberNames(of: specification.name) } ?? [specification.name]
        }
    }

    /// Gives a worker another environment.
    mutating func change(_ worker: String) {
        changes += 1
        for index in specifications.indices where specifications[index].name == worker {
            specifications[index].child.environment["CHAOS_CHANGE"] = "\(changes)"
        }
    }

    /// Takes the guest out, and puts a new guest in.
    ///
    /// - Returns: The name of the new guest.
    mutating func swapGuest(_ worker: String) -> String {
        guests += 1
        specifications.removeAll { $0.name == worker }
        if let newcomer = specification(.guest) { specifications.append(newcomer) }
        return "guest.\(guests)"
    }

    /// The specification of a party; nil for a party that is no worker.
    private func specification(_ party: Party) -> WorkerSpecification? {
        var limits = WorkerLimits(
            outbox: options.outbox << 10,
            outboxHardLimit: options.outbox << 14,
            // No event may be given up, however often a worker dies over it.
            strikes: 1_000_000
        )
        var onDemand: OnDemand?
        var grace = Self.grace
        var pool: WorkerPool?
        var name = party.name
        switch party {
        case .host, .client: return nil
        case .lossy:
            limits.outbox = Self.lossyOutbox
            limits.outboxHardLimit = 2 * Self.lossyOutbox
            limits.overflow = [
                Oldest.eventName: .dropOldest, Newest.eventName: .dropNewest, Latest.eventName: .latest(by: "key"),
            ]
        case .witness:
            // The witness wants everything and is slow, but may slow only publishers that wait for its handling.
            limits.overflow = [
                "*": .dropOldest, Errand.eventName: .wait, Question.eventName: .wait, Answer.eventName: .wait,
            ]
        case .first: grace = Self.shortGrace
        case .demand: onDemand = OnDemand(idleTime: Self.idleTime)
        case .pool: pool = WorkerPool(Self.poolMembers).keyed(Keyed.self, byField: "key")
        case .guest: name = "guest.\(guests)"
        case .middle, .last:
            // The events are large and the last worker is slow: it handles this much in a second or two.
            limits.outbox = min(limits.outbox, Self.slowOutbox)
            limits.outboxHardLimit = 2 * limits.outbox
        case .a, .b, .source, .asker: break
        }
        let environment = CurrentProcess.sanitizerOptions.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        var specification = WorkerSpecification(
            name,
            executable: .beside("chaos-worker"),
            arguments: [folder, "\(options.seed)"],
            environment: environment,
            subscribes: ChaosKind.allCases.filter { $0.receivers.contains(party) }.map { $0.type },
            onDemand: onDemand,
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1), startsAtOnce: true),
            handshakeTimeout: .seconds(240),
            // A worker that is stopped, or gets no processor for a while, must not be taken for dead.
            heartbeat: Heartbeat(every: .seconds(5), tolerance: 12),
            shutdown: .draining(grace: grace, terminate: .seconds(240)),
            limits: limits,
            pool: pool
        )
        if party == .witness { specification.subscribes = ["*"] }
        return specification
    }
}
