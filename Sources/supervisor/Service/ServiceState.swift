import Supervision

/// The state of all workers, as one line.
enum ServiceState {
    /// Text such as `2 of 3 workers are ready; canvas: backing off (attempt 1)`.
    static func text(_ workers: [ChildStatus]) -> String {
        // An on-demand worker is well without a process.
        let isWell: (ChildStatus) -> Bool = { $0.state == .ready || $0.state == .dormant }
        let ready = workers.count { $0.state == .ready }
        let count = workers.count == 1 ? "1 worker is ready" : "\(workers.count) workers are ready"
        let others = workers.filter { !isWell($0) }.map { "\($0.name): \($0.state)" }
        let dormant = workers.count { $0.state == .dormant }
        let asleep = dormant == 0 ? [] : ["\(dormant) on demand"]
        return (["\(ready) of \(count)"] + asleep + others).joined(separator: "; ")
    }
}
