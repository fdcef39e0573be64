import DomainEvents
import EventBridgeTesting
import Locks

/// Which events of one kind were accepted for one kind of receiver, and which of them it handled.
final class Fates: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var accepted: Set<EventID> = []
    private var handled: [EventID: Int] = [:]
    private var put: Set<EventID> = []
    private var isClosed = false

    func accepts(_ id: EventID) { lock.withLock { if !isClosed { accepted.insert(id) } } }

    /// Stops counting accepted events: publishing goes on, so later ones need not be handled when all is at rest.
    func close() { lock.withLock { isClosed = true } }

    /// Called in a handler.
    func handles() {
        guard let context = EventContext.current else { return }
        lock.withLock { handled[context.id, default: 0] += 1 }
    }

    func putAside(_ ids: [EventID]) { lock.withLock { put.formUnion(ids) } }

    var handledCount: Int { lock.withLock { handled.count } }
    /// How many accepted events were neither handled nor put aside.
    var missingCount: Int { lock.withLock { accepted.subtracting(handled.keys).subtracting(put).count } }
    var acceptedCount: Int { lock.withLock { accepted.count } }

    /// Throws unless every accepted event was handled or put aside.
    func check(_ what: String) throws {
        let missing = lock.withLock { accepted.subtracting(handled.keys).subtracting(put) }
        guard missing.isEmpty else {
            let names = missing.sorted { ($0.origin, $0.number) < ($1.origin, $1.number) }.prefix(8).map(\.description)
            throw SimulationError(
                "of \(what), \(missing.count) were accepted and never handled: \(names.joined(separator: ", "))"
            )
        }
    }

    /// Throws unless every handled event was handled once.
    func checkOnce(_ what: String) throws {
        let again = lock.withLock { handled.filter { $0.value > 1 } }
        guard again.isEmpty else { throw SimulationError("\(what) handled more than once: \(again.count)") }
    }
}
