import BridgeTransport
import EventBridge
import EventBridgeTesting

/// Starts workers within this process, with gates at the ends of links from which a flood's events leave.
struct GatedLauncher: WorkerLauncher {
    let workers: [InMemoryWorker]
    let flood: Flood
    /// The workers whose own ends have gates, and those for which the host's ends have gates.
    let workerEnds: Set<String>
    let hostEnds: Set<String>

    func launch(
        _ order: LaunchOrder,
        completion: @escaping @Sendable (Result<LaunchedWorker, LaunchFailure>) -> Void
    ) {
        let name = order.specification.name
        InMemoryLauncher(workers) { [flood, hostEnds, workerEnds] poller in
            let (host, worker) = MemoryStream.pair(poller: poller)
            return (
                hostEnds.contains(name) ? flood.gated(host, poller) : host,
                workerEnds.contains(name) ? flood.gated(worker, poller) : worker
            )
        }.launch(order, completion: completion)
    }
}
