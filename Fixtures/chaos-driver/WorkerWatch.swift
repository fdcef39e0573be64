import BridgePlatform
import DomainEvents
import EventBridge
import Locks

/// Which workers live, as the bridge reports it, and what else it has reported that matters.
final class WorkerWatch: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What a run must not bring about.
    struct Troubles {
        var unexpected: [String] = []
        var dropped = 0
        var lostInOutboxes: UInt64 = 0
    }

    private let lock = Lock()
    private let changed: Condition
    private var processes: [String: Int32] = [:]
    private var troubles = Troubles()
    private var takenOver = 0
    private var torn = 0

    init() {
        changed = Condition(lock: lock)
    }

    func subscribe(to publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: WorkerReady.self) { [self] event in
                lock.withLock {
                    processes[event.worker] = event.pid
                    changed.broadcast()
                }
            },
            publisher.subscribe(to: WorkerExited.self) { [self] event in lock.withLock { exited(event) } },
            publisher.subscribe(to: WorkerGaveUp.self) { [self] event in
                lock.withLock {
                    troubles.unexpected.append("\(event.worker) was given up: \(event.reason)")
                    changed.broadcast()
                }
            },
            publisher.subscribe(to: WorkerOutput.self) { [self] event in
                lock.withLock { troubles.unexpected.append("\(event.worker) wrote: \(event.line)") }
            },
            publisher.subscribe(to: EventsDropped.self) { [self] event in
                lock.withLock {
                    troubles.dropped += event.count
                    troubles.unexpected.append("\(event.count) dropped on \(event.link): \(event.reason)")
                }
            },
        ]
    }

    /// With the lock held.
    private func exited(_ event: WorkerExited) {
        if let outbox = event.outbox {
            takenOver += outbox.delivered
            torn += outbox.isTorn ? 1 : 0
            troubles.lostInOutboxes += outbox.lost
            if let damage = outbox.damage { troubles.unexpected.append("\(event.worker)'s outbox: \(damage)") }
        }
        if event.pid == processes[event.worker] { processes[event.worker] = nil }
        if !event.wasAsked, !event.reason.contains("SIGKILL") {
            troubles.unexpected.append("\(event.worker) ended by itself: \(event.reason)")
        }
        changed.broadcast()
    }

    /// Waits until the worker is ready.
    ///
    /// - Returns: Its process; nil if something went wrong that makes waiting useless.
    func waitForProcess(of worker: String) -> Int32? {
        lock.withLock {
            while processes[worker] == nil, troubles.unexpected.isEmpty { changed.wait() }
            return processes[worker]
        }
    }

    /// The worker is about to be killed: it is not ready any more, whatever is reported when.
    func forget(_ worker: String) {
        lock.withLock { processes[worker] = nil }
    }

    var found: Troubles { lock.withLock { troubles } }

    var summary: (takenOver: Int, torn: Int) { lock.withLock { (takenOver, torn) } }
}
