import BridgePlatform
import EventBridgeTesting
import Locks

/// Runs of hosts and workers, each with conditions that must always hold.
///
/// Each scenario makes anew everything that its closures capture. Scenarios that belong together lie in one file.
enum Scenarios {
    typealias Body = @Sendable (SimulationWorld) async throws -> Void

    static let all: [(name: String, body: Body)] = [
        // Events that flow, and receivers that do not keep up.
        ("askAndAnswer", askAndAnswer), ("pipeline", pipeline), ("waiting", waiting),
        ("fullAndStopped", fullAndStopped), ("gate", gate), ("flood", flood), ("overflow", overflow),
        // The order of events, and the receivers that get them.
        ("causes", causes), ("pool", pool), ("heldUp", heldUp), ("poolAndGuest", poolAndGuest),
        // The rows of the table of ends; `onDemand` has the idle exit.
        ("orderlyEnds", orderlyEnds), ("restarted", restarted), ("stopped", stopped), ("replaced", replaced),
        ("changed", changed), ("removed", removed), ("shutDown", shutDown), ("crashed", crashed),
        ("brokenProtocol", brokenProtocol), ("hostKilled", hostKilled),
        // Events that are put aside.
        ("deadLetters", deadLetters), ("redelivery", redelivery), ("letterOfTheHost", letterOfTheHost),
        // When workers are started.
        ("onDemand", onDemand), ("group", group), ("restOfGroup", restOfGroup), ("reload", reload),
        // Processes that have attached.
        ("clients", clients), ("clientsReturn", clientsReturn),
        // Promises that were each broken once.
        ("refusedLate", refusedLate), ("slowReports", slowReports), ("endedInHandler", endedInHandler),
        ("backOff", backOff), ("newNames", newNames), ("restartedOnRequest", restartedOnRequest),
    ]

    /// The names of all scenarios, or the names in `EVENT_BRIDGE_SCENARIOS`.
    static let names: [String] = {
        guard let wanted = CurrentProcess.environment("EVENT_BRIDGE_SCENARIOS") else { return all.map(\.name) }
        return wanted.split(separator: " ").map(String.init)
    }()
}

extension SimulationWorld {
    /// Whether a fault happened after which a worker may get events again that it had handled: a signal ended the
    /// worker, or it ended by itself.
    var mayComeAgain: Bool {
        // The host may end a worker that stands still or reads slowly: it shows no sign of life, or its grace is over.
        !Set(faultsMet.keys).isDisjoint(with: ["crash", "exit", "stop", "standstill", "slow reader", "broken protocol"])
    }
}

/// The fates of the events that the present host's program has accepted.
final class Present: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var now = Fates()
    func set(_ fates: Fates) { lock.withLock { now = fates } }
    var fates: Fates { lock.withLock { now } }
}
