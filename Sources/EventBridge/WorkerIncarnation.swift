import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// One start of a worker, from the host's side: its handshake, its link, its process, and the end of all three.
final class WorkerIncarnation: LinkDelegate, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What the host does about what happens here.
    protocol Owner: AnyObject, Sendable {
        var hostIncarnation: UInt64 { get }
        var router: EventRouter { get }
        func incarnationBecameReady(_ incarnation: WorkerIncarnation)
        func incarnationSaidGoodbye(_ incarnation: WorkerIncarnation)
        func incarnationViolated(_ incarnation: WorkerIncarnation, _ reason: ExitReason)
        func incarnationMissedHeartbeats(_ incarnation: WorkerIncarnation, after time: Duration)
        /// Link and process are both gone.
        func incarnationEnded(_ incarnation: WorkerIncarnation, _ reason: ExitReason, isOrderly: Bool)
    }

    let index: Int
    let number: Int
    let specification: WorkerSpecification
    let cookie: String
    private let incarnation: UInt64
    private let route: Route
    private let link: Link
    private let poller: Poller
    private weak let owner: (any Owner)?

    private let lock = Lock()
    private var process: (any WorkerProcess)?
    private var processIdentifier: Int32?
    private var isLinkEnded = false
    private var exit: ExitReason?
    private var hasSaidGoodbye = false
    private var hasReported = false

    /// After a link has ended without a goodbye, how long its process may take to be seen dead.
    ///
    /// A crash ends both at once; only a worker that has closed its link and lives on takes longer.
    private static let exitDelay: UInt64 = 1_000_000_000

    init(
        index: Int,
        number: Int,
        specification: WorkerSpecification,
        route: Route,
        poller: Poller,
        owner: any Owner
    ) {
        self.index = index
        self.number = number
        self.specification = specification
        self.route = route
        self.poller = poller
        self.owner = owner
        cookie = String(randomUInt64(), radix: 16) + String(randomUInt64(), radix: 16)
        incarnation = .random(in: 1 ... .max)
        link = route.link
    }

    /// Takes over what the launcher has started.
    func begin(_ launched: LaunchedWorker) throws {
        lock.withLock {
            process = launched.process
            processIdentifier = launched.process.processIdentifier
        }
        try link.attach(launched.stream, delegate: self, takesOver: true)
        do {
            try launched.process.onExit { [self] reason in processExited(reason) }
        } catch {
            // Nobody will say that it is gone: the link must not wait for that.
            link.close()
            throw error
        }
    }

    /// The number of its process, also after that has ended.
    var pid: Int32? { lock.withLock { processIdentifier } }

    /// What it has left in the memory that it shared; nil before its end, and if there was none.
    var takenOver: TakeOver? { link.takenOver }

    func signal(_ signal: ChildSignal) {
        lock.withLock { process }?.signal(signal)
    }

    func drain(grace: Duration) {
        link.send(.drain(graceMilliseconds: grace.milliseconds))
    }

    // MARK: - What the link brings

    func link(_ link: Link, received head: EventHead, payload: UnsafeRawBufferPointer) throws -> EventDisposition {
        guard let owner else { return .handled }
        guard case .sender = head.id else {
            throw LinkViolation("event \(head.sequence) bears the identity of another process")
        }
        if let allowed = specification.publishes {
            let name = owner.router.name(of: head) ?? ""
            guard allowed.contains(name) else {
                return .refused(.forbidden, text: "worker \"\(specification.name)\" may not publish \(name)")
            }
        }
        return try owner.router.eventReceived(head, payload: payload, from: route, over: link)
    }

    func link(_ link: Link, received message: ControlMessage) throws {
        switch message {
        case .hello(let hello): helloReceived(hello)
        case .interest(let interest): owner?.router.interestReceived(interest, from: route, over: link)
        case .ready: readyReceived()
        case .goodbye:
            lock.withLock { hasSaidGoodbye = true }
            owner?.incarnationSaidGoodbye(self)
        default: return
        }
    }

    func link(_ link: Link, wasRefused head: EventHead, payload: UnsafeRawBufferPointer, refusal: Refusal) {
        owner?.router.eventRefused(head, by: route, over: link, refusal: refusal)
    }

    private func helloReceived(_ hello: Hello) {
        switch HostHandshake.helloReceived(hello, expecting: cookie) {
        case .reject(let reject):
            link.send(.reject(reject))
            owner?.incarnationViolated(self, .handshakeRejected(reject.text))
        case .accept(let version):
            guard let owner else { return }
            link.queue(
                .welcome(
                    Welcome(
                        version: version,
                        library: LibraryVersion.text,
                        hostIncarnation: owner.hostIncarnation,
                        workerIncarnation: incarnation,
                        windowBytes: UInt64(route.limits.windowBytes),
                        windowEvents: UInt64(route.limits.windowEvents),
                        frameBytes: UInt64(route.limits.frameBytes),
                        heartbeatMilliseconds: specification.child.heartbeat.every.milliseconds
                    )
                )
            )
            link.established(
                peerSource: EventSource(origin: specification.name, incarnation: incarnation),
                ownIncarnation: owner.hostIncarnation,
                peerWindowBytes: hello.windowBytes,
                peerWindowEvents: hello.windowEvents,
                peerFrameBytes: hello.frameBytes
            )
            owner.router.announceInterest(to: route, over: link)
        }
    }

    private func readyReceived() {
        guard let owner else { return }
        let missing = owner.router.missingInterest(of: route, in: specification.subscribes)
        guard missing.isEmpty else {
            owner.incarnationViolated(
                self,
                .handshakeRejected(
                    "it says that it is ready but has not subscribed to \(missing.sorted().joined(separator: ", "))"
                )
            )
            return
        }
        link.releaseEvents()
        owner.incarnationBecameReady(self)
        watchHeartbeat()
    }

    // MARK: - Signs of life

    /// Looks once each interval whether the worker has been silent for too long.
    ///
    /// Silence counts only while the reading thread waits for the worker: what the worker has written and nobody has read yet says
    /// nothing. And a look that comes late, because this process or the machine was stopped, starts counting afresh.
    private func watchHeartbeat() {
        let heartbeat = specification.child.heartbeat
        let interval = heartbeat.every.nanoseconds
        guard interval > 0 else { return }
        let limit = interval.multipliedReportingOverflow(by: UInt64(max(heartbeat.tolerance, 1)))
        guard !limit.overflow else { return }
        look(every: interval, limit: limit.partialValue, countsFrom: MonotonicClock.now())
    }

    private func look(every interval: UInt64, limit: UInt64, countsFrom start: UInt64) {
        let due = MonotonicClock.now() &+ interval
        poller.schedule(at: due) { [weak self] in
            guard let self, !link.hasEnded else { return }
            let now = MonotonicClock.now()
            if now > due &+ interval / 2 {
                look(every: interval, limit: limit, countsFrom: now)
                return
            }
            if let silence = link.silence(at: now), min(silence, now &- start) > limit {
                owner?.incarnationMissedHeartbeats(self, after: .nanoseconds(Int64(clamping: silence)))
                return
            }
            look(every: interval, limit: limit, countsFrom: start)
        }
    }

    // MARK: - The end

    func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) {
        switch end {
        case .orderly: break
        case .violation(let text): owner?.incarnationViolated(self, .protocolViolation(text))
        case .failed(let text):
            poller.schedule(after: Self.exitDelay) { [weak self] in self?.violateIfAlive(text) }
        case .endOfStream, .closed:
            poller.schedule(after: Self.exitDelay) { [weak self] in
                self?.violateIfAlive("it closed its link without a goodbye and lives on")
            }
        }
    }

    func linkEnded(_ link: Link, _ end: LinkEnd) {
        lock.withLock { isLinkEnded = true }
        // Before anything else: events that come from now on go to the next incarnation, behind what this one has left.
        route.renew(after: link)
        reportEnd()
    }

    private func violateIfAlive(_ text: String) {
        let isAlive = lock.withLock { exit == nil }
        if isAlive { owner?.incarnationViolated(self, .protocolViolation(text)) }
    }

    private func processExited(_ reason: ExitReason) {
        lock.withLock { exit = reason }
        // What it wrote is still read to the end; somebody else who holds the socket cannot delay that.
        link.peerIsGone()
        reportEnd()
    }

    private func reportEnd() {
        let ended: (ExitReason, Bool)? = lock.withLock {
            guard isLinkEnded, let exit, !hasReported else { return nil }
            hasReported = true
            // Nothing is left of it to be signalled.
            process = nil
            return (exit, hasSaidGoodbye)
        }
        guard let (reason, isOrderly) = ended else { return }
        owner?.incarnationEnded(self, reason, isOrderly: isOrderly)
    }

    /// Kills the process and closes the link, without a word to anybody.
    func abandon() {
        signal(.kill)
        link.close()
    }
}

extension Duration {
    /// Whole milliseconds, at least 1 of what is longer than nothing; for the wire.
    var milliseconds: UInt64 {
        guard self > .zero else { return 0 }
        return max(nanoseconds / 1_000_000, 1)
    }

    /// Whole nanoseconds; 0 for what is negative, and as much as there is for what is too long.
    var nanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (whole, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return .max }
        let (sum, overflows) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflows ? .max : sum
    }
}
