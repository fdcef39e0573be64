import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// When a worker counts as ready: its body has said so, and no hold keeps it back.
extension WorkerSession {
    /// The session of the worker that a publisher belongs to; nil for a publisher of no worker.
    static func of(_ publisher: EventPublisher) -> WorkerSession? { WorkerSessions.shared[publisher] }

    func readinessWasHeld(because reason: String) {
        lock.withLock { holds += 1 }
        link.send(.moreTime(milliseconds: 0, reason: reason.shortened()))
    }

    func readinessWasReleased() {
        let isReadyNow = lock.withLock {
            holds -= 1
            return takeReadiness()
        }
        if isReadyNow { link.send(.ready) }
    }

    func askForTime(_ time: Duration, because reason: String) {
        link.send(.moreTime(milliseconds: UntrustedNumber(time.milliseconds), reason: reason.shortened()))
    }
}

/// The sessions of this process, by the workers' publishers: one in a worker process, any number in a test's memory.
final class WorkerSessions: @unchecked Sendable {
    // Sendable: guarded by `lock`.
    static let shared = WorkerSessions()

    private let lock = Lock()
    private var sessions = WeakTable<WorkerSession, Void>()

    /// The session with this publisher; nil if there is none.
    ///
    /// A session keeps its publisher, so no other publisher can have the same identifier while the session exists.
    subscript(publisher: EventPublisher) -> WorkerSession? {
        lock.withLock { sessions[ObjectIdentifier(publisher)]?.object }
    }

    func add(_ session: WorkerSession, of publisher: EventPublisher) {
        let living = lock.withLock {
            let living = sessions.removeDead().living
            sessions.insert(session, (), for: ObjectIdentifier(publisher))
            return living
        }
        // These may be the last references. A session's deinit stops its router, so it runs without the lock.
        withExtendedLifetime(living) {}
    }

    func remove(_ publisher: EventPublisher) {
        lock.withLock { _ = sessions.remove(ObjectIdentifier(publisher)) }
    }
}
