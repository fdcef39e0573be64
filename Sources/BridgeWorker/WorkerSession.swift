package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
package import EventRouting
import Locks

/// A worker over its one link: its publisher, its readiness, and its end.
///
/// The session is the same in a worker process and in a test's memory; only the stream differs.
package final class WorkerSession: GuestSession.Owner, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The session of the worker that the current task belongs to.
    @TaskLocal package static var current: WorkerSession?

    /// How a worker's link ended.
    package enum End: Sendable {
        /// The link has ended after the host had asked the worker to finish.
        case drained
        case failed(WorkerError)
    }

    /// How the handshake ended.
    ///
    /// This is no `Result`, and the continuations are no checked ones: for them the runtime would look for conformances
    /// in all images, each of which takes a tenth of a millisecond of a worker's start.
    private enum Handshake: Sendable {
        case welcomed(EventPublisher)
        case failed(WorkerError)
    }

    private let name: String
    private let cookie: String
    private let limits: LinkLimits
    private let poller: Poller
    private let tap: (@Sendable (PassingEvent) -> Void)?
    let link: Link

    let lock = Lock()
    private var guest: GuestSession?
    private var router: EventRouter?
    private var isReady = false
    /// Whether the worker's body has said that it is ready.
    private var wantsReadiness = false
    /// How many holds still keep the worker from being ready.
    var holds = 0
    private var handshake: Handshake?
    private let handshakeEnded: Condition
    private var handshakeWaiter: UnsafeContinuation<Handshake, Never>?
    private var end: End?
    private var endWaiters: [@Sendable (End) -> Void] = []

    /// - Parameter tap: sees each event that arrives or leaves; nil if no caller watches.
    package init(
        name: String,
        cookie: String,
        limits: LinkLimits = LinkLimits(),
        poller: Poller,
        tap: (@Sendable (PassingEvent) -> Void)? = nil
    ) {
        self.tap = tap
        self.name = name
        self.cookie = cookie
        // The host may ask for every name that any of its workers has made up, and for all events at once.
        var limits = limits
        limits.interestNames = EventRouter.maximumNames + 1
        // The host's limit for this worker bounds the frames of both directions. A frame takes memory only as it comes.
        limits.frameBytes = LinkLimits.greatestFrameBytes
        self.limits = limits
        self.poller = poller
        handshakeEnded = Condition(lock: lock)
        // The origin of the worker's events is complete only when the host has given out the incarnation.
        link = Link(
            peerName: EventRouter.ownName,
            role: .worker,
            ownSource: EventSource(origin: name, incarnation: 0),
            limits: limits,
            poller: poller
        )
    }

    deinit { router?.stop(refusing: "worker \"\(name)\" has ended") }

    // MARK: - Life

    /// Introduces the worker over `stream`; returns its publisher when the host has welcomed the worker and said which
    /// events the host wants.
    ///
    /// - Parameter patience: how many nanoseconds the calling thread may wait in place, before the task is suspended.
    package func begin(
        over stream: any ByteStream,
        patience: UInt64 = 0
    ) async throws(WorkerError) -> EventPublisher {
        let guest = GuestSession(over: link, stream, poller: poller, owner: self)
        lock.withLock { self.guest = guest }
        do throws(SystemError) {
            try guest.begin(as: name, cookie: cookie, limits: limits, features: .bookmarks)
        } catch {
            throw WorkerError(error)
        }
        if patience > 0 { waitForHandshake(atMost: patience) }
        // Resumed once: either here, or by `finishHandshake`, which takes it out under the lock.
        let outcome = await withUnsafeContinuation { continuation in
            let known = lock.withLock {
                if handshake == nil { handshakeWaiter = continuation }
                return handshake
            }
            if let known { continuation.resume(returning: known) }
        }
        switch outcome {
        case .welcomed(let publisher): return publisher
        case .failed(let error): throw error
        }
    }

    /// Holds the calling thread until the handshake has ended, or the time is over.
    private func waitForHandshake(atMost nanoseconds: UInt64) {
        let deadline = MonotonicClock.now() + nanoseconds
        lock.withLock {
            while handshake == nil, handshakeEnded.wait(untilNanoseconds: deadline) {}
        }
    }

    /// Notes that the body is ready; if no hold is left, reports the readiness to the host, which then sends events.
    package func becomeReady() {
        let isReadyNow = lock.withLock {
            wantsReadiness = true
            return takeReadiness()
        }
        if isReadyNow { link.send(.ready) }
    }

    /// Makes the worker ready if nothing keeps it back; called with the lock held.
    ///
    /// - Returns: Whether the worker has become ready; the caller then reports that to the host.
    func takeReadiness() -> Bool {
        guard wantsReadiness, holds == 0, !isReady else { return false }
        isReady = true
        return true
    }

    /// Returns when the link has ended.
    package func waitForEnd() async -> End {
        // Resumed once: `waiter` is called either here, or by `finish`, which takes it out under the lock.
        await withUnsafeContinuation { continuation in
            let waiter: @Sendable (End) -> Void = { continuation.resume(returning: $0) }
            let (known, router) = lock.withLock {
                if end == nil { endWaiters.append(waiter) }
                return (end, self.router)
            }
            if let known { Self.tell(known, [waiter], behind: router) }
        }
    }

    /// Resumes the waiters when the reports are delivered or have taken too long: then the process may end.
    private static func tell(_ end: End, _ waiters: [@Sendable (End) -> Void], behind router: EventRouter?) {
        let tell: @Sendable () -> Void = { for waiter in waiters { waiter(end) } }
        if let router { router.whenReported(tell) } else { tell() }
    }

    /// Ends the link without a goodbye; to the host this looks like a crash.
    package func abandon() {
        link.close()
    }

    /// What the host's welcome says of this worker's bookmarks.
    var keptBookmark: KeptBookmark {
        guard let welcome = lock.withLock({ guest })?.welcome, welcome.features.contains(.bookmarks) else {
            return .notKept
        }
        return .last(welcome.bookmark.map { EventBookmark($0) })
    }

    // MARK: - What the link brings

    package func guestWasWelcomed(_ session: GuestSession, _ welcome: Welcome) -> PeerEvents? {
        let source = EventSource(origin: name, incarnation: welcome.workerIncarnation)
        let publisher = EventPublisher(source: source)
        if !welcome.features.contains(.takesImportedEvents) { publisher.withdrawImportRight() }
        let router = EventRouter(publisher: publisher, poller: poller, tap: tap, tapsUnwanted: false)
        let peer = Peer(
            peerName: EventRouter.ownName,
            role: .worker,
            ownSource: source,
            limits: limits,
            isRenewed: false,
            poller: poller,
            first: link
        )
        lock.withLock { self.router = router }
        WorkerSessions.shared.add(self, of: publisher)
        return PeerEvents(of: peer, to: router)
    }

    package func guestWasRejected(_ session: GuestSession, _ reject: Reject) {
        finishHandshake(.failed(WorkerError(.rejected, "the host does not accept this worker: \(reject.text)")))
    }

    /// The handshake ends only now: earlier, an event that the worker publishes would reach no other process.
    package func guestIsAttached(_ session: GuestSession) {
        if let router = lock.withLock({ self.router }) { finishHandshake(.welcomed(router.publisher)) }
    }

    /// The worker ends now: it does not wait for handlers that still run, as the link can acknowledge nothing any more.
    package func guestWasReadToEnd(_ session: GuestSession, _ end: LinkEnd) {
        finish(end, isDraining: session.isDraining)
    }

    package func guestEnded(_ session: GuestSession, _ end: LinkEnd) { finish(end, isDraining: session.isDraining) }

    private func finish(_ ending: LinkEnd, isDraining: Bool) {
        let outcome: End
        switch ending {
        case .orderly(let goodbye) where goodbye.reason == Goodbye.Reason.violation.rawValue:
            outcome = .failed(WorkerError(.linkEnded, "the host ended the link: \(goodbye.text)"))
        case .endOfStream, .closed, .orderly:
            outcome = isDraining ? .drained : .failed(WorkerError(.linkEnded, "the host has gone"))
        case .violation(let text):
            outcome = .failed(WorkerError(.linkEnded, "the host broke the protocol: \(text)"))
        case .failed(let text):
            outcome = isDraining ? .drained : .failed(WorkerError(.linkEnded, "the link to the host failed: \(text)"))
        }
        if case .failed(let error) = outcome { finishHandshake(.failed(error)) }
        let (waiters, router) = lock.withLock {
            defer { endWaiters = [] }
            if end == nil { end = outcome }
            return (endWaiters, self.router)
        }
        if let router {
            WorkerSessions.shared.remove(router.publisher)
            router.hostHasGone()
        }
        Self.tell(outcome, waiters, behind: router)
    }

    private func finishHandshake(_ outcome: Handshake) {
        let waiter = lock.withLock {
            guard handshake == nil else { return UnsafeContinuation<Handshake, Never>?.none }
            handshake = outcome
            defer { handshakeWaiter = nil }
            return handshakeWaiter
        }
        handshakeEnded.signal()
        waiter?.resume(returning: outcome)
    }
}
