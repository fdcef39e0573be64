import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// One process that has connected to the control socket, from its first byte to its end.
///
/// A client is a peer that the host has not started and that nothing waits for.
final class AttachedClient: LinkControlSink, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    protocol Owner: AnyObject, Sendable {
        var router: EventRouter { get }
        var publisher: EventPublisher { get }
        /// Admits the client if there is room for one more, and returns whether it did.
        func admit(_ client: AttachedClient) -> Bool
        /// The worker that the process is or descends from, if that worker may not attach; nil if the process may.
        func workerWithoutControl(behind process: Int32) -> String?
        /// The host's encoded report, for a client whose version is rejected; nil if there is none, or if the
        /// report is too long to be sent before a welcome.
        func encodedReport() -> [UInt8]?
        func clientEnded(_ client: AttachedClient, because reason: String)
    }

    let name: String
    let pid: Int32
    let peer: Peer
    private let link: Link
    private let incarnation = Randomness.nextIncarnation()
    private let arrival: Arrival
    private let poller: Poller
    // A reference cycle until the link has ended: then the owner forgets this client.
    private let owner: any Owner

    private let lock = Lock()
    private var ownTitle = ""
    private var isRouted = false
    private var hasEnded = false
    /// Why the host ended the link; nil if the link itself reports the reason.
    private var fault: String?

    /// 30 s of silence end a client's link: a client that hangs must not keep an outbox here.
    private static let heartbeat = Heartbeat(every: .seconds(1), tolerance: 30)
    private static let longestTitle = 64

    init(_ arrival: Arrival, name: String, limits: LinkLimits, poller: Poller, owner: any Owner) {
        self.arrival = arrival
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
        link.finish(reason: .shutdown, text: text)
        link.close()
    }

    // MARK: - What the link brings

    func link(_ link: Link, received message: ControlMessage) throws {
        switch message {
        case .hello(let hello): helloReceived(hello)
        case .interest(let interest): try owner.router.interestReceived(interest, from: peer, over: link)
        case .ready: readyReceived()
        default: return
        }
    }

    private func helloReceived(_ hello: Hello) {
        lock.withLock { ownTitle = hello.name.shortened(toScalars: Self.longestTitle) }
        if link.speaksLines {
            // A client that speaks lines sends no heartbeats: if SIGSTOP stopped it, it would keep its place for ever.
            let text = "a client speaks the binary form; lines are for workers"
            return refuse(Reject(reason: Reject.Reason.version.rawValue, text: text))
        }
        if let worker = owner.workerWithoutControl(behind: pid) {
            arrival.refused(.worker(worker))
            let text = """
                process \(pid) belongs to worker "\(worker)", whose specification does not let it control its host
                """
            return refuse(Reject(reason: Reject.Reason.worker.rawValue, text: text))
        }
        switch HostHandshake.helloReceived(hello, expecting: nil) {
        case .reject(var reject):
            // A client brings no cookie, so only its version can be rejected here.
            reject.report = owner.encodedReport()
            refuse(reject)
        case .accept(let version):
            guard owner.admit(self) else {
                return refuse(
                    Reject(reason: Reject.Reason.limit.rawValue, text: "as many clients are attached as may be")
                )
            }
            arrival.introduced()
            welcome(hello, version)
        }
    }

    private func refuse(_ reject: Reject) {
        lock.withLock { fault = "was not accepted: \(reject.text)" }
        link.send(.reject(reject))
        // If the socket has not taken the whole reject, the rest follows until the time for a hello is over.
        guard link.isFlushed else { return }
        // The client was told why, and the host reads nothing more from it.
        arrival.stream.finishWriting()
        arrival.stream.finishReading()
    }

    private func welcome(_ hello: Hello, _ version: UInt64) {
        let ownIncarnation = owner.publisher.source.incarnation
        link.queue(
            .welcome(
                Welcome(
                    version: version,
                    library: LibraryVersion.text,
                    hostIncarnation: ownIncarnation,
                    workerIncarnation: incarnation,
                    windowBytes: UInt64(peer.limits.windowBytes),
                    windowEvents: UInt64(peer.limits.windowEvents),
                    frameBytes: UInt64(peer.limits.frameBytes),
                    heartbeatMilliseconds: Self.heartbeat.every.milliseconds,
                    name: name
                )
            )
        )
        link.bringEvents(to: PeerEvents(of: peer, to: owner.router))
        link.established(
            peerSource: EventSource(origin: name, incarnation: incarnation),
            ownIncarnation: ownIncarnation,
            peerWindowBytes: hello.windowBytes,
            peerWindowEvents: hello.windowEvents,
            peerFrameBytes: hello.frameBytes,
            peerFeatures: hello.features.intersection(.acknowledgesNothing)
        )
        lock.withLock { isRouted = true }
        owner.router.add(peer)
        owner.router.announceInterest(to: peer, over: link)
        if let watch = SilenceWatch(Self.heartbeat, from: .onMonotonicClock) { look(watch) }
    }

    /// The client has asked for the events that it wants.
    private func readyReceived() {
        link.releaseEvents()
        owner.router.reports.publish(ClientAttached(client: name, title: title, pid: pid))
    }

    /// Checks once per interval whether the client has been silent for too long, as the host does for workers.
    private func look(_ watch: SilenceWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            let now = MonotonicClock.now()
            let silence = link.silence(at: now).map { Duration.nanoseconds(Int64(clamping: $0)) }
            guard let silence = watch.looked(at: .nanoseconds(Int64(clamping: now)), silence: silence) else {
                return look(watch)
            }
            lock.withLock { fault = "was silent for \(silence.milliseconds / 1_000) s" }
            link.close()
        }
    }

    // MARK: - The end

    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) { finish(end) }

    func linkEnded(_ link: Link, _ end: LinkEnd) { finish(end) }

    private func finish(_ end: LinkEnd) {
        let (isFirst, isRouted, fault) = lock.withLock {
            defer { hasEnded = true }
            return (!hasEnded, self.isRouted, self.fault)
        }
        guard isFirst else { return }
        arrival.ended()
        if isRouted { owner.router.remove(peer) }
        let reason =
            switch end {
            case .orderly(let goodbye): "said goodbye: \(goodbye.text)"
            case .endOfStream, .closed: "has gone"
            case .violation(let text): "broke the protocol: \(text)"
            case .failed(let text): "has gone: \(text)"
            }
        owner.clientEnded(self, because: fault ?? reason)
    }
}
