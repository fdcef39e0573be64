import BridgeControl

extension BridgeReport {
    /// The workers that need the user's attention.
    var badWorkers: [WorkerReport] { workers.filter(\.isBad) }

    /// The same report without the other workers.
    var onlyBad: BridgeReport {
        var report = self
        report.workers = badWorkers
        return report
    }
}

extension WorkerReport {
    /// How long the process of a restarted worker counts as young, in milliseconds.
    static let recentMilliseconds: UInt64 = 10 * 60_000

    /// Whether the worker needs the user's attention.
    ///
    /// A worker needs attention if it is neither ready nor dormant, or if the host has ever started it again without a
    /// request and its process is younger than ten minutes. It also needs attention if, since the host's start, it has
    /// refused an event, or an event was given up because the worker crashed over it.
    var isBad: Bool {
        let isUp = state == "ready" || state == "dormant"
        let wasRestarted = restarts > 0 && uptimeMilliseconds ?? .max < Self.recentMilliseconds
        return !isUp || wasRestarted || sent.refused > 0 || sent.deadLettered > 0
    }
}
