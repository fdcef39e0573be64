import BridgeControl

extension BridgeReport {
    /// The workers that the user should look at.
    var badWorkers: [WorkerReport] { workers.filter(\.isBad) }

    /// The same report without the other workers.
    var onlyBad: BridgeReport {
        var report = self
        report.workers = badWorkers
        return report
    }
}

extension WorkerReport {
    /// For how long a restart is news, in milliseconds.
    static let recentMilliseconds: UInt64 = 10 * 60_000

    /// Whether the user should look at the worker.
    ///
    /// It is neither ready nor dormant, or was started again within the last ten minutes without a request, or has
    /// refused events or died of them since the start of the host.
    var isBad: Bool {
        let isUp = state == "ready" || state == "dormant"
        let wasRestarted = restarts > 0 && uptimeMilliseconds ?? .max < Self.recentMilliseconds
        return !isUp || wasRestarted || sent.refused > 0 || sent.deadLettered > 0
    }
}
