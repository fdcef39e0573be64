import BridgePlatform
import Locks

/// Which processes belong to workers, be they started by the bridge or by a worker.
extension HostCore {
    /// The worker that a process is, or descends from, if its specification does not let it control this host; nil if there
    /// is none.
    func workerWithoutControl(behind process: Int32) -> String? {
        let (line, group) = (ProcessDescent.line(of: process), ProcessDescent.group(of: process))
        let starts = lock.withLock { incarnations.flatMap(\.all) }
        for start in starts where start.ending.exit == nil {
            guard let pid = start.pid, line.contains(pid) || group == pid else { continue }
            return start.specification.allowsControl ? nil : start.specification.name
        }
        // Its parents may have ended, and it may have a group of its own, as daemons do.
        guard let name = launcher.worker(markedOn: process) else { return nil }
        let isAllowed = lock.withLock { specifications.contains { $0.name == name && $0.allowsControl } }
        return isAllowed ? nil : name.isEmpty ? "(one that has ended)" : name
    }
}
