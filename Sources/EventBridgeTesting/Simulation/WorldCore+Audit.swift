import EventBridge
import Supervision

/// What is looked at without being asked, in the books of each host.
extension WorldCore {
    /// Holds what the host keeps for each worker against the memory that docs/reference/delivery.md allows, and looks
    /// that no worker was found to break the protocol: a sender that goes beyond the receiver's window is.
    func audit(_ host: Host) -> String? {
        let all = host.bridge.statistics
        // The window of each other one that publishes for it.
        let windows = max(0, all.count - 1) << 20
        for worker in all {
            if worker.violations > 0, !mayViolate.contains(worker.worker) {
                return "\(worker.worker) was found to break the protocol"
            }
            guard let limits = host.launcher.limits[worker.worker] else { continue }
            // What a dead worker has left may come on top where its takeover does not wait.
            let left = met["crash", default: 0] + met["exit", default: 0] + met["stop", default: 0]
            let bound = 2 * limits.outboxHardLimit + windows + left * Self.largestOutbox
            if worker.sent.waitingBytes > bound {
                return
                    "\(worker.sent.waitingBytes) bytes are kept for \(worker.worker), and no more than \(bound) may be"
            }
        }
        return nil
    }

    /// What a worker can leave at most when it dies.
    private static let largestOutbox = 64 << 20

    /// The same, and what holds of a host that is at rest: all books balance, what was settled has come, and nothing
    /// waits at a gate.
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
        for worker in host.bridge.status {
            if let matter = worker.waitsFor { return "\(worker.name), which has ended, waits for \(matter)" }
        }
        return audit(host)
    }
}
