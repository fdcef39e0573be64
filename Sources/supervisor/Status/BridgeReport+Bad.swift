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
    /// How long a restart counts as recent, in milliseconds.
    static let recentMilliseconds: UInt64 = 10 * 60_000

    /// Whether the worker needs the user's attention.
    ///
    /// A worker needs attention if it is neither ready nor dormant, if it was started again within the last ten minutes
    /// without a request, or if it has refused events or died of them since the start of the host.
    var isBad: Bool {
        let isUp = state == "ready" || state == "dormant"
        let wasRestarted = restarts > 0 && uptimeMilliseconds ?? .max < Self.recentMilliseconds
        return !isUp || wasRestarted || sent.refused > 0 || sent.deadLettered > 0
    }
}
