import EventBridge
import Supervision

/// Checks on the books of each host, without being asked.
extension WorldCore {
    /// Checks the host's memory for each worker against docs/reference/delivery.md, and that no worker broke the
    /// protocol.
    ///
    /// A sender that goes beyond the receiver's window breaks the protocol.
    func audit(_ host: Host) -> String? {
        let all = host.bridge.statistics
        // The windows of the other workers, which publish for this one.
        let windows = max(0, all.count - 1) << 20
        for worker in all {
            if worker.violations > 0, !mayViolate.contains(worker.worker) {
                return "\(worker.worker) was found to break the protocol"
            }
            guard let limits = host.launcher.limits[worker.worker] else { continue }
            // Events that a dead worker has left may come on top, if their takeover does not wait.
            let left = met["crash", default: 0] + met["exit", default: 0] + met["stop", default: 0]
            let bound = 2 * limits.outboxHardLimit + windows + left * Self.largestOutbox
            if worker.sent.waitingBytes > bound {
                return
                    "\(worker.sent.waitingBytes) bytes are kept for \(worker.worker), and no more than \(bound) may be"
            }
        }
        return nil
    }

    /// The most that a worker can leave when it dies.
    private static let largestOutbox = 64 << 20

    /// Checks the same, and what holds of a host at rest.
    ///
    /// All books balance, the settled events have arrived, and nothing waits at a gate.
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
