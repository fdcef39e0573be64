import DomainEvents
import EventBridge
import Supervision

/// The checks of each host's counts that every world makes by itself.
extension WorldCore {
    /// Checks that the host keeps no more bytes for a worker than docs/reference/delivery.md allows, and that no worker
    /// broke the protocol.
    ///
    /// A worker that sends more than the receiver's window allows breaks the protocol, too.
    func audit(_ host: Host) -> String? {
        let all = host.bridge.statistics
        // From each other worker the host accepts a window (1 MiB) of events even beyond this worker's limit.
        let windows = max(0, all.count - 1) << 20
        for worker in all {
            if worker.violations > 0, !mayViolate.contains(worker.worker) {
                return "\(worker.worker) was found to break the protocol"
            }
            guard let limits = host.launcher.limits[worker.worker] else { continue }
            // Events that dead workers have left may exceed the limits: their recovery does not always wait for room.
            let left = met["crash", default: 0] + met["exit", default: 0] + met["stop", default: 0]
            let bound = 2 * limits.outboxHardLimit + windows + left * Self.largestOutbox
            if worker.sent.waitingBytes > bound {
                return
                    "\(worker.sent.waitingBytes) bytes are kept for \(worker.worker), and no more than \(bound) may be"
            }
        }
        return nil
    }

    /// The most bytes of events that a worker can leave when it dies.
    private static let largestOutbox = 64 << 20

    /// Checks that at rest all counts balance, handled events have arrived, and no ended worker waits for anything.
    ///
    /// The function also makes the checks of ``audit(_:)``.
    func auditRest(of host: Host) -> String? {
        for worker in host.bridge.statistics {
            let name = worker.worker
            for (direction, counts) in [("to", worker.sent), ("from", worker.received)] where !counts.isBalanced {
                return "the ledger of events \(direction) \(name) does not balance: \(counts)"
            }
            let came = record.count(at: name)
            if worker.sent.handled > came {
                return "\(worker.sent.handled) events count as handled by \(name), to which \(came) have come"
            }
            let brought = record.count(at: "host", from: name)
            if worker.received.handled > brought {
                return "\(worker.received.handled) events of \(name) count as handled, of which \(brought) have come"
            }
        }
        if let mistake = auditFates(of: host) { return mistake }
        for worker in host.bridge.status {
            if let matter = worker.waitsFor { return "\(worker.name), which has ended, waits for \(matter)" }
        }
        return audit(host)
    }

    /// Checks the counts of a host that was shut down: its report counts each unsettled event as left over.
    func auditEnd(of host: Host, _ report: ShutdownReport) -> String? {
        for worker in host.bridge.statistics {
            let name = worker.worker
            guard worker.sent.isBalanced else {
                return "in the end the ledger of events to \(name) does not balance: \(worker.sent)"
            }
            let left = report.leftovers.first { $0.worker == name }?.events ?? 0
            if worker.sent.waiting > left {
                return "\(worker.sent.waiting) events for \(name) are not settled, and \(left) are said to be left over"
            }
        }
        return auditFates(of: host)
    }

    /// Checks the host's counts and dead letters against what its workers have settled.
    private func auditFates(of host: Host) -> String? {
        let seen = host.launcher.fates.count
        let (books, letters) = (host.bridge.statistics, host.bridge.deadLetters)
        let fates = host.launcher.fates
        // If a worker has settled an event since `seen` was read, the host's counts may or may not include that event.
        guard fates.count == seen else { return nil }
        let putAside = letters.map {
            FateRecord.PutAside(id: $0.eventID, worker: $0.worker, isOfCrashes: $0.cause == .crashes)
        }
        for worker in books where !mayViolate.contains(worker.worker) {
            if let mistake = fates.mistake(in: worker.sent, of: worker.worker, letters: putAside) { return mistake }
        }
        return nil
    }
}
