import BridgePlatform
import EventBridgeTesting
import Locks

/// Runs of hosts and workers in which something always has to come true.
///
/// Each makes all that its closures capture anew. What belongs together lies in one file.
enum Scenarios {
    typealias Body = @Sendable (SimulationWorld) async throws -> Void

    static let all: [(name: String, body: Body)] = [
        // Events that flow, and receivers that do not keep up.
        ("askAndAnswer", askAndAnswer), ("pipeline", pipeline), ("waiting", waiting),
        ("fullAndStopped", fullAndStopped), ("gate", gate), ("flood", flood), ("overflow", overflow),
        // What comes before what, and to whom.
        ("causes", causes), ("pool", pool), ("heldUp", heldUp), ("poolAndGuest", poolAndGuest),
        // The rows of the table of ends; `onDemand` has the idle exit.
        ("orderlyEnds", orderlyEnds), ("restarted", restarted), ("stopped", stopped), ("replaced", replaced),
        ("changed", changed), ("removed", removed), ("shutDown", shutDown), ("crashed", crashed),
        ("brokenProtocol", brokenProtocol), ("hostKilled", hostKilled),
        // What is put aside.
        ("deadLetters", deadLetters), ("redelivery", redelivery),
        // Who is started when.
        ("onDemand", onDemand), ("group", group), ("restOfGroup", restOfGroup), ("reload", reload),
        // Processes that have attached.
        ("clients", clients), ("clientsReturn", clientsReturn),
        // Promises that were broken once.
        ("refusedLate", refusedLate), ("slowReports", slowReports), ("endedInHandler", endedInHandler),
        ("backOff", backOff), ("newNames", newNames),
    ]

    /// The names of all, or of those in `EVENT_BRIDGE_SCENARIOS`.
    static let names: [String] = {
        guard let wanted = CurrentProcess.environment("EVENT_BRIDGE_SCENARIOS") else { return all.map(\.name) }
        return wanted.split(separator: " ").map(String.init)
    }()
}

extension SimulationWorld {
    /// Whether something was met after which a worker may get again what it had handled: it was ended by a signal, or
    /// ended by itself.
    var mayComeAgain: Bool {
        // One that stands still, or reads slowly, may be ended as it shows no sign of life or its grace is over.
        !Set(faultsMet.keys).isDisjoint(with: ["crash", "exit", "stop", "standstill", "slow reader", "broken protocol"])
    }
}

/// The fates of what the present host's program has accepted.
final class Present: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var now = Fates()
    func set(_ fates: Fates) { lock.withLock { now = fates } }
    var fates: Fates { lock.withLock { now } }
}
