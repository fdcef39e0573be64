import DomainEvents
import EventBridgeTesting
import Locks

/// Which members of a pool have handled which events.
final class Members: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    private let lock = Lock()
    private var handled: [EventID: Set<String>] = [:]

    /// Called in a handler.
    func handles(at member: String) {
        guard let context = EventContext.current else { return }
        lock.withLock { _ = handled[context.id, default: []].insert(member) }
    }

    /// Throws unless each event came to one member.
    func check() throws {
        let shared = lock.withLock { handled.values.filter { $0.count > 1 } }
        guard let first = shared.first else { return }
        throw SimulationError("\(shared.count) events came to several members, one of them to \(first.sorted())")
    }
}
