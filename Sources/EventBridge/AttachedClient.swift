import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import NamedSockets
import Supervision

/// One process that has connected to the control socket, from its first byte to its end.
///
/// A client is a peer that the host has not started, and for which no publisher waits.
final class AttachedClient: HostSession, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let name: String
    let pid: Int32
    let peer: Peer
    let link: Link
    let incarnation = Randomness.nextIncarnation()
    private let arrival: Arrival
    let poller: Poller
    // A reference cycle until the link has ended: then the owner forgets this client.
    private let owner: AttachedClients

    private let lock = Lock()
    private var ownTitle = ""
    private var isRouted = false
    /// Why the host ended the link; nil if the link itself reports the reason.
    private var fault: String?

    /// Only workers may bring events of other machines, if their specifications allow that.
    let mayImport = false

    /// 30 s of silence end a client's link: the host must not keep an outbox for a client that hangs.
    let heartbeat = Heartbeat(every: .seconds(1), tolerance: 30)
    let frameDeadline: Duration?
    private static let longestTitle = 64

    init(
        _ arrival: Arrival,
        name: String,
        limits: LinkLimits,
        frameDeadline: Duration,
        poller: Poller,
        owner: AttachedClients
    ) {
        self.arrival = arrival
        self.frameDeadline = frameDeadline
        self.name = name
        self.poller = poller
        self.owner = owner
        pid = arrival.peer.processIdentifier
        peer = Peer(
            peerName: name,
            role: .host,
            ownSource: owner.publisher.source,
            limits: limits,
            isRenewed: false,
            poller: poller,
            isAttached: true
        )
        link = peer.link
    }

    var title: String { lock.withLock { ownTitle } }

    var status: ClientStatus {
        let statistics = peer.statistics
        return ClientStatus(
            client: name,
            title: title,
            pid: pid,
            user: arrival.peer.user,
            outboxEvents: link.outboxDepth.events,
            dropped: statistics.tally.dropped
        )
    }

    // MARK: - Life

    func begin() throws {
        try link.start(over: arrival.stream, control: self)
    }

    /// Says goodbye and ends the link; the client may still read what was sent before.
    func end(because text: String) {
        link.finish(reason: .shutdown, text: text, isClosedNext: true)
        link.close()
    }

    // MARK: - The session

    var router: EventRouter? { owner.router }
    var publishable: Set<EventName>? { nil }

    func judge(_ hello: Hello) -> HostHandshake.Outcome {
        lock.withLock { ownTitle = hello.name.shortened(toScalars: Self.longestTitle) }
        if link.speaksLines {
            // A client that speaks lines sends no heartbeats: stopped by SIGSTOP, it would keep its place for ever.
            return reject(.version, "a client speaks the binary form; lines are for workers")
        }
        if let worker = owner.workerWithoutControl(pid) {
            arrival.refused(.worker(worker))
            return reject(
                .worker,
                "process \(pid) belongs to worker \"\(worker)\", whose specification does not let it control its host"
            )
        }
        // A process that has ended cannot be told from a worker's. One that still lives was looked up while it lived.
        // 0 stands for a process that has no number here: it is in another PID namespace, or simulated.
        if pid > 0, ProcessDescent.hasEnded(pid) {
            return reject(
                .worker,
                "process \(pid), which connected, has ended; only the process that connects may attach"
            )
        }
        let outcome = HostHandshake.helloReceived(hello, expecting: nil)
        if case .reject(var reject) = outcome {
            // A client brings no cookie, so only its version can be rejected here.
            reject.report = owner.encodedReport()
            return .reject(reject)
        }
        guard owner.admit(self) else { return reject(.limit, "the host has as many clients as it allows") }
        arrival.introduced()
        lock.withLock { isRouted = true }
        return outcome
    }

    private func reject(_ reason: Reject.Reason, _ text: String) -> HostHandshake.Outcome {
        .reject(Reject(reason: reason.rawValue, text: text))
    }

    func guestWasRejected(_ reject: Reject) {
        lock.withLock { fault = "was not accepted: \(reject.text)" }
        // If the socket has not taken the whole reject frame, the rest follows until the time for a hello is over.
        guard link.isFlushed else { return }
        // The client was told why, and the host reads nothing more from it.
        arrival.stream.finishWriting()
        arrival.stream.finishReading()
    }

    func guestIsReady() {
        link.releaseEvents()
        owner.router.reports.publish(ClientAttached(client: name, title: title, pid: pid))
    }

    func guestSaid(_ message: ControlMessage) {}

    func guestWasSilent(for time: Duration) {
        lock.withLock { fault = "was silent for \(time.milliseconds / 1_000) s" }
        link.close()
    }

    func guestStalled(_ text: String) {
        lock.withLock { fault = "broke the protocol: \(text)" }
        link.close()
    }

    // MARK: - The end

    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) {
        let (isRouted, fault) = lock.withLock { (self.isRouted, self.fault) }
        arrival.ended()
        if isRouted { owner.router.remove(peer) }
        let reason =
            switch end {
            case .orderly(let goodbye): "said goodbye: \(goodbye.text)"
            case .endOfStream, .closed: "has gone"
            case .violation(let text): "broke the protocol: \(text)"
            case .failed(let text): "has gone: \(text)"
            }
        // Another thread may still be in slow handlers, and the link cannot end before they have returned.
        owner.clientEnded(self, isHandled: link.strand.isFree, because: fault ?? reason)
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) { owner.forget(self) }
}
