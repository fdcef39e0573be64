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
        func incarnationMissedHeartbeats(_ incarnation: WorkerIncarnation, after time: Duration, busyWith: String?)
        /// It needs so much time from now, or none and only says what it is at.
        func incarnationAskedForTime(_ incarnation: WorkerIncarnation, more: Duration, because reason: String)
        /// It has had nothing to do for its idle time, and gets nothing more.
        func incarnationIdled(_ incarnation: WorkerIncarnation)
        func incarnationOverran(_ incarnation: WorkerIncarnation, event: String, after time: Duration)
        /// Told once, before the end.
        func incarnationLostEvents(_ lost: EventsLost)
        /// Link and process are both gone.
        func incarnationEnded(
            _ incarnation: WorkerIncarnation,
            _ reason: ExitReason,
            isOrderly: Bool,
            verdict: CrashLedger.Verdict
        )
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
    /// Of its owner, for every event: it holds nobody who holds this.
    private let router: EventRouter

    private let lock = Lock()
    private var process: (any WorkerProcess)?
    private var processIdentifier: Int32?
    private var isLinkEnded = false
    private var exit: ExitReason?
    private var resourceUsage: ResourceUsage?
    private var hasSaidGoodbye = false
    /// Whether the host has asked for its end, or brought it about: then no event is to blame for it.
    private var isEndedByHost = false
    /// The event whose handlers took too long, for which the host then ends the process.
    private var overrun: Overrun?
    private var hasReported = false

    /// After a link has ended without a goodbye, how long its process may take to be seen dead.
    ///
    /// A crash ends both at once; only a worker that has closed its link and lives on takes longer.
    private static let exitDelay: UInt64 = 1_000_000_000

    /// How much of what a worker says that it is at is worth repeating, in scalars.
    private static let longestReason = 200

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
        router = owner.router
        cookie = String(randomUInt64(), radix: 16) + String(randomUInt64(), radix: 16)
        incarnation = .random(in: 1 ... .max)
        link = route.link
    }

    /// There is a process, which can be signalled from now on.
    func spawned(_ process: any WorkerProcess) {
        lock.withLock {
            self.process = process
            processIdentifier = process.processIdentifier
        }
    }

    /// Takes over what the launcher has started, behind ``spawned(_:)``.
    func begin(_ launched: LaunchedWorker) throws {
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

    /// How its process has ended, and what it had used; nil before its end, and where there was none.
    var ending: (exit: ExitReason?, usage: ResourceUsage?) { lock.withLock { (exit, resourceUsage) } }

    /// What it has left in the memory that it shared; nil before its end, and if there was none.
    var takenOver: TakeOver? { link.takenOver }

    func signal(_ signal: ChildSignal) {
        let process = lock.withLock {
            isEndedByHost = true
            return self.process
        }
        process?.signal(signal)
    }

    func drain(grace: Duration) {
        lock.withLock {
            isEndedByHost = true
            // Somebody has asked for its end in the same moment, and came first.
            overrun = nil
        }
        link.send(.drain(graceMilliseconds: grace.milliseconds))
    }

    // MARK: - What the link brings

    func link(_ link: Link, received head: EventHead, payload: UnsafeRawBufferPointer) throws -> EventDisposition {
        guard case .sender = head.id else {
            throw LinkViolation("event \(head.sequence) bears the identity of another process")
        }
        if let allowed = specification.publishes {
            let name = router.name(of: head) ?? ""
            guard allowed.contains(name) else {
                return .refused(.forbidden, text: "worker \"\(specification.name)\" may not publish \(name)")
            }
        }
        return try router.eventReceived(head, payload: payload, from: route, over: link)
    }

    func link(_ link: Link, received gap: GapFrame) throws {
        for range in gap.ranges {
            guard case .sender = range.first else {
                throw LinkViolation("gap \(gap.sequence) speaks of events of another process")
            }
        }
        try owner?.router.gapReceived(gap, from: route, over: link)
    }

    func link(_ link: Link, received message: ControlMessage) throws {
        switch message {
        case .hello(let hello): helloReceived(hello)
        case .interest(let interest): owner?.router.interestReceived(interest, from: route, over: link)
        case .ready: readyReceived()
        case .receipt(let receipt):
            guard receipt.process == specification.name, receipt.passedOnTo.isEmpty else {
                throw LinkViolation("a receipt speaks for \"\(receipt.process)\"")
            }
            owner?.router.receiptReceived(receipt, over: link)
        case .moreTime(let milliseconds, let reason):
            owner?.incarnationAskedForTime(
                self,
                more: .milliseconds(Int64(clamping: milliseconds)),
                because: reason.shortened(toScalars: Self.longestReason)
            )
        case .goodbye:
            lock.withLock { hasSaidGoodbye = true }
            owner?.incarnationSaidGoodbye(self)
        default: return
        }
    }

    func link(_ link: Link, wasRefused head: EventHead, payload: UnsafeRawBufferPointer, refusal: Refusal) {
        owner?.router.eventRefused(head, payload: payload, by: route, over: link, refusal: refusal)
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
                        heartbeatMilliseconds: specification.child.heartbeat.every.milliseconds,
                        features: link.features
                    )
                )
            )
            link.established(
                peerSource: EventSource(origin: specification.name, incarnation: incarnation),
                ownIncarnation: owner.hostIncarnation,
                peerWindowBytes: hello.windowBytes,
                peerWindowEvents: hello.windowEvents,
                peerFrameBytes: hello.frameBytes,
                peerFeatures: hello.features
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
        watchHandlers()
        watchIdleness()
    }

    // MARK: - Signs of life

    /// Looks once each interval whether the worker has been silent for too long.
    ///
    /// Silence counts only while the reading thread waits for the worker: what the worker has written and nobody has read yet says
    /// nothing. And a look that comes late, because this process or the machine was stopped, starts counting afresh.
    private func watchHeartbeat() {
        if let watch = SilenceWatch(specification.child.heartbeat, from: .onMonotonicClock) { look(watch) }
    }

    /// The event that it is at, as far as the memory tells that it shares.
    private var busyWith: String? {
        guard let work = link.peerWork, let sequence = work.inline ?? work.oldest,
            let event = link.unsettledEvent(sequence)
        else { return nil }
        return "\(event.name) (\(event.id))"
    }

    /// Whether a debugger holds its process.
    var isBeingDebugged: Bool { lock.withLock { process }?.isBeingDebugged ?? false }

    private func look(_ watch: SilenceWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            let now = MonotonicClock.now()
            let silence = link.silence(at: now).map { Duration.nanoseconds(Int64(clamping: $0)) }
            guard let silence = watch.looked(at: .nanoseconds(Int64(clamping: now)), silence: silence) else {
                return look(watch)
            }
            // Whoever looks at it in a debugger keeps it from answering; afterwards it has all of its time again.
            if isBeingDebugged { return watchHeartbeat() }
            owner?.incarnationMissedHeartbeats(self, after: silence, busyWith: busyWith)
        }
    }

    /// Looks several times within the idle time whether one that is on demand has had nothing to do; nothing is counted while events pass.
    private func watchIdleness() {
        guard let onDemand = specification.child.onDemand else { return }
        look(IdleWatch(onDemand, from: .onMonotonicClock))
    }

    private func look(_ watch: IdleWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            // Read before it is asked for quiet: what moves in between is seen by the last look, under the link's lock.
            let activity = link.activity
            let isIdle = watch.looked(at: .onMonotonicClock, activity: link.isQuiet ? activity : nil)
            guard isIdle, link.keepEventsIfIdle(since: activity) else { return look(watch) }
            owner?.incarnationIdled(self)
        }
    }

    // MARK: - Handlers

    /// Why the process is ended by its handlers' deadline.
    private struct Overrun {
        let reason: ExitReason
        /// The event, if it must have been that one; nil if several were begun, of which any may keep the others waiting.
        let suspects: [EventID]?
    }

    /// Looks several times within the handlers' deadline which events the worker is at; nothing is counted while events pass.
    private func watchHandlers() {
        guard let deadline = specification.limits.handlerDeadline else { return }
        look(HandlerWatch(deadline: deadline, from: .onMonotonicClock), deadline)
    }

    private func look(_ watch: HandlerWatch, _ deadline: Duration) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            let work = link.peerWork.map { HandlerWatch.Work(inline: $0.inline, oldest: $0.oldest) }
            let overdue = watch.looked(at: .onMonotonicClock, work: work)
            if !overdue.isEmpty, isBeingDebugged { return watchHandlers() }
            if !overdue.contains(where: { self.handlerOverran($0, deadline) }) { look(watch, deadline) }
        }
    }

    /// - Returns: Whether the worker is on its way out, for this or another reason.
    private func handlerOverran(_ overdue: HandlerWatch.Overdue, _ deadline: Duration) -> Bool {
        // Finished in this moment, or never ours.
        guard let event = link.unsettledEvent(overdue.event) else { return false }
        let text = "\(event.name) (\(event.id))"
        let isNews = lock.withLock {
            guard !isEndedByHost, !hasSaidGoodbye, exit == nil else { return false }
            var suspects: [EventID]?
            if case .inline = overdue { suspects = [event.id] }
            overrun = Overrun(reason: .handlerTimedOut(event: text, after: deadline), suspects: suspects)
            return true
        }
        if isNews { owner?.incarnationOverran(self, event: text, after: deadline) }
        return true
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
        let usage = lock.withLock { process }?.usage
        lock.withLock {
            exit = reason
            resourceUsage = usage
        }
        // What it wrote is still read to the end; somebody else who holds the socket cannot delay that.
        link.peerIsGone()
        reportEnd()
    }

    private func reportEnd() {
        let ended: (reason: ExitReason, isOrderly: Bool, isCrash: Bool, overrun: Overrun?)? = lock.withLock {
            guard isLinkEnded, let exit, !hasReported else { return nil }
            hasReported = true
            // Nothing is left of it to be signalled.
            process = nil
            return (exit, hasSaidGoodbye, !hasSaidGoodbye && (overrun != nil || !isEndedByHost), overrun)
        }
        guard let ended, let owner else { return }
        let verdict: CrashLedger.Verdict
        let reason = ended.overrun?.reason ?? ended.reason
        if ended.isCrash {
            verdict = owner.router.workerCrashed(
                route,
                over: link,
                because: reason.description,
                suspects: ended.overrun?.suspects
            )
        } else {
            route.incarnationEnded(link)
            verdict = .worker
        }
        if let loss = link.loss {
            owner.incarnationLostEvents(EventsLost(worker: specification.name, incarnation: incarnation, loss))
        }
        owner.incarnationEnded(self, reason, isOrderly: ended.isOrderly, verdict: verdict)
    }

    /// Kills the process and closes the link, without a word to anybody.
    func abandon() {
        signal(.kill)
        link.close()
    }
}

extension Duration {
    /// The reading of the monotonic clock.
    static var onMonotonicClock: Duration { .nanoseconds(Int64(clamping: MonotonicClock.now())) }

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
