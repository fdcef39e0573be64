import BridgeProtocol
import DomainEvents
import EventRouting

/// A worker in a host: its specification, its peer, its output and its starts.
struct HostedWorker {
    /// The specification that the worker's next start uses.
    var specification: WorkerSpecification
    let peer: Peer
    /// Gets what the worker prints.
    let output: OutputGate
    /// Keeps the last lines that the worker prints.
    let printed: OutputLog
    var starts = IncarnationTable()
    /// The last lines that the worker's last ended start had printed; nil if there are none.
    var lastOutput: String?
    /// Whether a request for this worker alone has stopped it, so that a request may start it again.
    var wasStoppedOnRequest = false
    /// Whether the worker was removed; its entry stays, as the supervisor knows workers by their index.
    var isRemoved = false

    /// Removes all that the host holds for the worker.
    ///
    /// - Parameter vacancy: the one entry for all removed workers, so that a host whose workers come and go does not
    ///   grow by what each of them had.
    mutating func remove(leaving vacancy: HostedWorker) {
        self = vacancy
        isRemoved = true
    }
}

extension HostedWorker {
    /// - Parameters:
    ///   - pool: the pool that the worker is a member of; nil if it is in none.
    ///   - reason: why the worker takes no events from the beginning; nil if it takes events.
    init(
        _ specification: WorkerSpecification,
        of pool: PeerPool?,
        in host: HostCore,
        closedBecause reason: String? = nil
    ) {
        self.specification = specification
        peer = Peer(
            peerName: specification.name,
            role: .host,
            ownSource: host.publisher.source,
            limits: specification.limits.link,
            specified: EventName.set(specification.subscribes),
            strikes: specification.limits.strikes,
            isRenewed: true,
            poller: host.poller
        )
        output = OutputGate(
            worker: specification.name,
            rate: specification.limits.output,
            reports: host.reports,
            poller: host.poller,
            router: host.router,
            target: host.output.target
        )
        printed = OutputLog(host.output.numbers)
        peer.pool = pool
        // The worker is not started yet: `statusChanged` tells the peer about its start.
        peer.setStartsByItself(false)
        if let reason { peer.close(because: reason) }
    }
}
