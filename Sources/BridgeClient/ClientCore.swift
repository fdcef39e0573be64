import BridgeControl
import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import EventRouting
import Locks

/// A client through its whole life, across all its links: connecting, attaching again, and what callers wait for.
///
/// The client has one router and one peer for its life, and a link for each connection. Events that a link has not
/// delivered go into the next link.
final class ClientCore: GuestSession.Owner, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let path: String
    let publisher: EventPublisher
    private let title: String
    private let way: any WayToHost
    private let limits: LinkLimits
    private let poller: Poller
    private let router: EventRouter
    let peer: Peer

    let lock = Lock()
    private var machine = AttachmentStateMachine()
    private var connecting: CheckedContinuation<BridgeClientError?, Never>?
    private var closing: [CheckedContinuation<Void, Never>] = []
    /// The session over the link that is connected or connecting; nil between two attempts.
    private var current: GuestSession?
    private var isRouting = false
    private var lastEvent: EventID?
    /// Why the client ends the current link; nil if the link itself reports the reason.
    private var fault: BridgeClientError?
    /// The callers that wait for the end of the current link.
    private var endWatchers: [UInt64: AsyncStream<EndedLink>.Continuation] = [:]
    private var lastWatcher: UInt64 = 0

    /// What a client reports about its own connection to the host.
    ///
    /// These events stay in the client's process, so that no client takes another client's report for its own.
    private static let ownReports = EventName.set([HostLost.eventName, HostRegained.eventName])

    /// How long the host may take to answer a hello, in nanoseconds.
    private static let handshakeTime: UInt64 = 10_000_000_000

    init(
        path: String,
        publisher: EventPublisher,
        title: String,
        wantsEverything: Bool,
        watchedNames: Set<EventName>,
        way: (any WayToHost)?,
        tap: (@Sendable (PassingEvent) -> Void)?,
        gapTap: (@Sendable (Gap) -> Void)?
    ) throws(SystemError) {
        self.path = path
        self.publisher = publisher
        self.title = title
        self.way = way ?? HostSocket(path: path)
        var limits = LinkLimits()
        // The host may ask for every name that any of its workers has made up, and for `*`, which means all events.
        limits.interestNames = EventRouter.maximumNames + 1
        // Such an interest takes up to 17 MB in one frame. A frame takes memory only as it comes.
        limits.frameBytes = LinkLimits.greatestFrameBytes
        self.limits = limits
        poller = try Poller(name: "bridge client")
        publisher.withdrawImportRight()
        publisher.reserve(Self.ownReports.union(ControlEventNames.commands).union(ControlEventNames.answers))
        router = EventRouter(
            publisher: publisher,
            poller: poller,
            wantsEverything: wantsEverything,
            watchedNames: watchedNames,
            control: ControlNames(local: Self.ownReports),
            processName: title,
            tap: tap,
            gapTap: gapTap
        )
        peer = Peer(
            peerName: Self.peerName(beside: publisher.source.origin),
            role: .worker,
            ownSource: publisher.source,
            limits: limits,
            isRenewed: true,
            poller: poller
        )
    }

    /// What the client calls its host.
    ///
    /// A receipt names the process that sent it, so this must not be the client's own name. A publisher that was given
    /// no name is called `host`, as hosts are; the client then calls its host `attached host`.
    private static func peerName(beside own: String) -> String {
        own == EventRouter.ownName ? "attached host" : EventRouter.ownName
    }

    /// The session with a host that has said which events it wants; nil if there is none.
    private var attached: GuestSession? { lock.withLock { attachedNow } }

    /// The same as ``attached``; read with the lock held.
    private var attachedNow: GuestSession? { current.flatMap { $0.isAttached ? $0 : nil } }

    var name: String? { attached?.welcome?.name }

    // MARK: - Life

    func connect() async throws(BridgeClientError) {
        let error = await withCheckedContinuation { continuation in
            lock.withLock { connecting = continuation }
            poller.perform { [self] in attempt() }
        }
        if let error { throw error }
    }

    func close(within limit: Duration) async {
        if let session = attached {
            await withCheckedContinuation { continuation in
                let isDone = lock.withLock {
                    // If the link has already ended, there is nothing to wait for.
                    if current === session { closing.append(continuation) }
                    return current !== session
                }
                if isDone { return continuation.resume() }
                let sayGoodbye: @Sendable () -> Void = { [weak self, weak session] in self?.sayGoodbye(in: session) }
                poller.schedule(after: limit.nanoseconds, sayGoodbye)
                session.link.whenQuiet(sayGoodbye)
            }
        }
        end(because: Self.closedText)
        await router.reports.passed()
    }

    /// Makes a stream that yields the end of the present link, and then finishes.
    ///
    /// - Throws: If there is no link: a command would then lie in the outbox, and be done when its caller no longer
    ///   expects it.
    func linkEnds() throws(BridgeClientError) -> AsyncStream<EndedLink> {
        let (stream, continuation) = AsyncStream.makeStream(of: EndedLink.self)
        let number: UInt64? = lock.withLock {
            guard attachedNow != nil else { return nil }
            lastWatcher += 1
            endWatchers[lastWatcher] = continuation
            return lastWatcher
        }
        guard let number else { throw BridgeClientError(.linkEnded, "there is no link to the host at \(path)") }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            lock.withLock { endWatchers[number] = nil }
        }
        return stream
    }

    private func sayGoodbye(in session: GuestSession?) {
        handle(.closed)
        session?.link.finish(reason: .shutdown, text: Self.closedText)
        // A host that reads nothing must not hold up the client.
        poller.schedule(after: 100_000_000) { [weak session] in session?.endStream() }
    }

    /// Ends everything at once.
    func abandon() {
        end(because: Self.closedText)
        poller.stop()
    }

    private static let closedText = "the client was closed"

    /// Ends the link, and the waits of all callers; the publisher is then of use in this process only.
    private func end(because reason: String) {
        handle(.closed)
        // Not `link.close()`: a link closed in that way takes no more events, so new events would go into the next link
        // while the old link is still read.
        lock.withLock { current }?.endStream()
        let wasRouting = lock.withLock {
            defer { isRouting = false }
            return isRouting
        }
        if wasRouting { router.stop() }
        // This also wakes the callers that have begun to wait for room until now, as no link comes any more.
        peer.close(because: reason)
        // For a `deliver` or `request` whose event has gone into the outbox since the router stopped.
        router.hostHasGone()
    }

    // MARK: - Events without a type

    var namesWantedByHost: [String] { router.namesAsked(by: peer) }

    func idElsewhere(of id: EventID) -> EventID? {
        guard let welcome = attached?.welcome, let name = welcome.name else { return nil }
        return EventID(origin: name, incarnation: welcome.workerIncarnation, number: id.number)
    }

    func deliver(
        name: String,
        payload: [UInt8],
        context: EventContext?,
        within limit: Duration
    ) async throws -> DeliveryReceipt {
        let context = context ?? publisher.makeContext(causedBy: nil)
        return try await router.deliver(name: name, payload: payload, context: context, within: limit)
    }

    // MARK: - Attaching

    /// Tries to attach, on the poller's thread.
    private func attempt() {
        guard lock.withLock({ machine.phase != .ended }) else { return }
        do throws(BridgeClientError) {
            let stream = try way.connect(on: poller)
            let session = GuestSession(over: peer.link, stream, poller: poller, owner: self)
            let isClosed = lock.withLock {
                // The client was closed while the socket was being connected.
                guard machine.phase != .ended else { return true }
                (current, fault) = (session, nil)
                return false
            }
            if isClosed { return }
            do throws(SystemError) {
                try session.begin(as: title, cookie: "", limits: limits)
            } catch {
                lock.withLock { current = nil }
                throw BridgeClientError(.system, "no thread can be had for the link: \(error)")
            }
            poller.schedule(after: Self.handshakeTime) { [weak self, weak session] in self?.handshakeIsOver(session) }
        } catch {
            handle(.failed(error))
        }
    }

    private func handshakeIsOver(_ session: GuestSession?) {
        let isLate = lock.withLock {
            guard let session, current === session, !session.isAttached, fault == nil else { return false }
            fault = BridgeClientError(.timedOut, "the host at \(path) did not answer")
            return true
        }
        if isLate { session?.endStream() }
    }

    private func handle(_ input: AttachmentStateMachine.Input) {
        let actions = lock.withLock {
            machine.handle(input, at: MonotonicClock.now(), jitter: Randomness.nextFraction())
        }
        for action in actions { perform(action) }
    }

    private func perform(_ action: AttachmentStateMachine.Action) {
        switch action {
        case .finishConnecting(let error):
            lock.withLock { connecting.take() }?.resume(returning: error)
        case .announceLoss(let error, let isFinal):
            router.reports.publish(HostLost(path: path, reason: error.description, isFinal: isFinal))
            guard isFinal else { break }
            // Subscribers learn that the client has given up before the calls that wait fail.
            router.reports.whenPassed { [weak self] in self?.end(because: error.description) }
        case .announceReturn(let isSameHost, let away):
            let (session, lastEvent) = lock.withLock { (current, self.lastEvent) }
            router.reports.publish(
                HostRegained(
                    path: path,
                    client: session?.welcome?.name ?? "",
                    isSameHost: isSameHost,
                    awayMilliseconds: away / 1_000_000,
                    mayHaveMissed: router.namesWantedHere.filter { !Self.ownReports.contains(EventName($0)) },
                    lastEvent: lastEvent?.description
                )
            )
        case .tryAgain(let pause):
            poller.schedule(after: pause) { [weak self] in self?.attempt() }
        }
    }

    // MARK: - What the link brings

    func guestWasWelcomed(_ session: GuestSession, _ welcome: Welcome) throws -> PeerEvents? {
        guard let name = welcome.name else { throw LinkViolation("the host gave this client no name") }
        // If the client was closed before the welcome, its router has been stopped, or is not needed any more.
        let isClosed = lock.withLock {
            if machine.phase != .ended { isRouting = true }
            return machine.phase == .ended
        }
        if isClosed { return nil }
        router.othersKnowEvents(as: EventSource(origin: name, incarnation: welcome.workerIncarnation))
        return PeerEvents(of: peer, to: router, keepsLast: true)
    }

    func guestWasRejected(_ session: GuestSession, _ reject: Reject) {
        // A host that is full now may have room later.
        let code: BridgeClientError.Code = reject.reason == Reject.Reason.limit.rawValue ? .crowded : .rejected
        // A report that cannot be read has the form of another protocol version.
        let report = reject.report.flatMap { try? CBORDecoder().decode(BridgeReport.self, from: $0) }
        let sentence = "the host at \(path) does not accept this client: \(reject.text)"
        lock.withLock { fault = BridgeClientError(code, sentence, report: report) }
        session.endStream()
    }

    func guestIsAttached(_ session: GuestSession) {
        handle(.attached(hostIncarnation: session.welcome?.hostIncarnation ?? 0))
        // Subscribers learn that the host is back before its events come.
        router.reports.whenPassed { [link = session.link] in link.send(.ready) }
    }

    // MARK: - The end

    func guestWasReadToEnd(_ session: GuestSession, _ end: LinkEnd) {}

    func guestEnded(_ session: GuestSession, _ end: LinkEnd) {
        // This comes first: new events then go to the next link, behind the events that the ended link had not
        // delivered.
        peer.renew(after: session.link)
        typealias Ended = (
            fault: BridgeClientError?, waiters: [CheckedContinuation<Void, Never>],
            watchers: [AsyncStream<EndedLink>.Continuation]
        )
        let (fault, waiters, watchers): Ended = lock.withLock {
            guard current === session else { return (self.fault, [], []) }
            current = nil
            if let last = session.lastEvent { lastEvent = last }
            defer { (closing, endWatchers) = ([], [:]) }
            return (self.fault, closing, endWatchers.sorted { $0.key < $1.key }.map(\.value))
        }
        for waiter in waiters { waiter.resume() }
        let error = fault ?? BridgeClientError(end, at: path)
        handle(.failed(error))
        var ended = EndedLink(error: error, isOrderly: false)
        if case .orderly = end { ended.isOrderly = true }
        for watcher in watchers {
            watcher.yield(ended)
            watcher.finish()
        }
    }
}

/// How a link to the host has ended.
struct EndedLink: Sendable {
    let error: BridgeClientError
    /// Whether the host has said goodbye.
    var isOrderly: Bool
}
