import BridgeControl
import BridgePlatform
import BridgeProtocol
import BridgeTransport
import CBOR
import DomainEvents
import EventRouting
import Locks

/// A client's side of its links: connecting, the handshake, signs of life, and attaching again.
///
/// The client has one router and one peer for its life, and a link for each connection. Events that a link has not
/// delivered go into the next link.
final class ClientCore: LinkControlSink, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let path: String
    let publisher: EventPublisher
    private let title: String
    private let way: any WayToHost
    private let limits: LinkLimits
    private let poller: Poller
    private let router: EventRouter
    private let peer: Peer

    let lock = Lock()
    private var machine = AttachmentStateMachine()
    private var connecting: CheckedContinuation<BridgeClientError?, Never>?
    private var closing: [CheckedContinuation<Void, Never>] = []
    /// The link that is connected or connecting; nil between two attempts.
    private var current: Link?
    /// The stream of the current link: closing it ends the link, and the link then reports its end.
    private var stream: (any ByteStream)?
    private var ownName: String?
    private var hostIncarnation: UInt64 = 0
    /// The client's incarnation: tells this connection's events from events of other connections with the same name.
    private var ownIncarnation: UInt64 = 0
    private var isRouting = false
    /// Whether the host has said over the current link which events it wants.
    private var isAttached = false
    /// Takes the events of the current link, or of the last one that was welcomed.
    private var events: PeerEvents?
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
        self.limits = limits
        poller = try Poller(name: "bridge client")
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

    /// The name that the client gives its host: not the client's own, as receipts must tell the two apart.
    ///
    /// A publisher that was given no name has the host's name, too.
    private static func peerName(beside own: String) -> String {
        own == EventRouter.ownName ? "attached host" : EventRouter.ownName
    }

    var name: String? { lock.withLock { isAttached ? ownName : nil } }

    // MARK: - Life

    func connect() async throws(BridgeClientError) {
        let error = await withCheckedContinuation { continuation in
            lock.withLock { connecting = continuation }
            poller.perform { [self] in attempt() }
        }
        if let error { throw error }
    }

    func close(within limit: Duration) async {
        let link = lock.withLock { isAttached ? current : nil }
        if let link {
            await withCheckedContinuation { continuation in
                let isDone = lock.withLock {
                    // If the link has already ended, there is nothing to wait for.
                    if current === link { closing.append(continuation) }
                    return current !== link
                }
                if isDone { return continuation.resume() }
                poller.schedule(after: limit.nanoseconds) { [weak self] in self?.sayGoodbye(over: link) }
                link.whenQuiet { [weak self] in self?.sayGoodbye(over: link) }
            }
        }
        end()
        await router.reports.passed()
    }

    /// Makes a stream that yields the end of the present link, and then finishes.
    ///
    /// - Throws: If there is no link: a command would then lie in the outbox, and be done when its caller no longer
    ///   expects it.
    func linkEnds() throws(BridgeClientError) -> AsyncStream<EndedLink> {
        let (stream, continuation) = AsyncStream.makeStream(of: EndedLink.self)
        let number: UInt64? = lock.withLock {
            guard isAttached else { return nil }
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

    private func sayGoodbye(over link: Link) {
        handle(.closed)
        link.finish(reason: .shutdown, text: "the client was closed")
        // A host that reads nothing must not hold up the client.
        poller.schedule(after: 100_000_000) { [weak self] in self?.endStream(of: link) }
    }

    /// Ends everything at once.
    func abandon() {
        end()
        poller.stop()
    }

    private func end() {
        handle(.closed)
        let link = lock.withLock { current }
        if let link { endStream(of: link) }
        let wasRouting = lock.withLock {
            defer { isRouting = false }
            return isRouting
        }
        if wasRouting { router.stop() }
    }

    /// Closes the stream of a link, so that the link ends by itself.
    ///
    /// `link.close()` would not do: a link closed in that way takes no more events, so new events would go into the
    /// next link while the old link is still read.
    private func endStream(of link: Link) {
        lock.withLock { current === link ? stream : nil }?.close()
    }

    // MARK: - Events without a type

    var namesWantedByHost: [String] { router.namesAsked(by: peer) }

    func idElsewhere(of id: EventID) -> EventID? {
        lock.withLock {
            guard isAttached, let ownName else { return nil }
            return EventID(origin: ownName, incarnation: ownIncarnation, number: id.number)
        }
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
            let link = peer.link
            let isClosed = lock.withLock {
                // The client was closed while the socket was being connected.
                guard machine.phase != .ended else { return true }
                (current, self.stream, fault) = (link, stream, nil)
                return false
            }
            if isClosed { return }
            do throws(SystemError) {
                try link.start(over: stream, control: self)
            } catch {
                lock.withLock { (current, self.stream) = (nil, nil) }
                throw BridgeClientError(.system, "no thread can be had for the link: \(error)")
            }
            // The hello follows the start: if the start fails, the next attempt uses the same link, which must not hold
            // a hello already. Until the hello is sent, the reading thread that the start has begun finds nothing to
            // read, as a host does not speak first.
            link.send(.hello(hello))
            poller.schedule(after: Self.handshakeTime) { [weak self] in self?.handshakeIsOver(link) }
        } catch {
            handle(.failed(error))
        }
    }

    private var hello: Hello {
        Hello(
            name: title,
            cookie: "",
            library: LibraryVersion.text,
            windowBytes: UInt64(limits.windowBytes),
            windowEvents: UInt64(limits.windowEvents),
            frameBytes: UInt64(limits.frameBytes),
            features: []
        )
    }

    private func handshakeIsOver(_ link: Link) {
        let isLate = lock.withLock {
            guard current === link, !isAttached, fault == nil else { return false }
            fault = BridgeClientError(.timedOut, "the host at \(path) did not answer")
            return true
        }
        if isLate { endStream(of: link) }
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
        case .announceReturn(let isSameHost, let away):
            let (name, lastEvent) = lock.withLock { (ownName ?? "", self.lastEvent) }
            router.reports.publish(
                HostRegained(
                    path: path,
                    client: name,
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

    func link(_ link: Link, received message: ControlMessage) throws {
        switch message {
        case .welcome(let welcome): try welcomed(welcome, over: link)
        case .reject(let reject): rejected(reject, over: link)
        case .interest(let interest): try interestReceived(interest, over: link)
        default: return
        }
    }

    private func welcomed(_ welcome: Welcome, over link: Link) throws {
        guard let name = welcome.name else { throw LinkViolation("the host gave this client no name") }
        let begins: Bool? = lock.withLock {
            // The client was closed before the welcome: the router has been stopped, or is no longer needed.
            guard machine.phase != .ended else { return nil }
            (ownName, hostIncarnation) = (name, welcome.hostIncarnation)
            ownIncarnation = welcome.workerIncarnation
            defer { isRouting = true }
            return !isRouting
        }
        guard let begins else { return }
        let events = PeerEvents(of: peer, to: router, keepsLast: true)
        lock.withLock { self.events = events }
        link.bringEvents(to: events)
        link.established(
            peerSource: EventSource(origin: EventRouter.ownName, incarnation: welcome.hostIncarnation),
            ownIncarnation: welcome.workerIncarnation,
            peerWindowBytes: welcome.windowBytes,
            peerWindowEvents: welcome.windowEvents,
            peerFrameBytes: welcome.frameBytes,
            peerFeatures: welcome.features
        )
        router.othersKnowEvents(as: EventSource(origin: name, incarnation: welcome.workerIncarnation))
        if begins { router.add(peer) }
        // The host's wishes over the last link count until it sends new ones: events that it wants wait in the outbox.
        router.announceInterest(to: peer, over: link, keepsWishes: true)
        if begins { router.start() }
        beat(every: welcome.beat, over: link)
    }

    private func rejected(_ reject: Reject, over link: Link) {
        // A host that is full now may have room later.
        let code: BridgeClientError.Code = reject.reason == Reject.Reason.limit.rawValue ? .crowded : .rejected
        // A report that cannot be read has the form of another protocol version.
        let report = reject.report.flatMap { try? CBORDecoder().decode(BridgeReport.self, from: $0) }
        let sentence = "the host at \(path) does not accept this client: \(reject.text)"
        lock.withLock { fault = BridgeClientError(code, sentence, report: report) }
        endStream(of: link)
    }

    private func interestReceived(_ interest: Interest, over link: Link) throws {
        let (isFirst, incarnation) = lock.withLock {
            defer { isAttached = true }
            return (!isAttached, hostIncarnation)
        }
        try router.interestReceived(interest, from: peer, over: link, replacesWishes: isFirst)
        guard isFirst else { return }
        peer.releaseEvents(over: link)
        handle(.attached(hostIncarnation: incarnation))
        // Subscribers learn that the host is back before its events come.
        router.reports.whenPassed { link.send(.ready) }
    }

    /// Sends a heartbeat at each interval, on the poller's thread, which no handler can block.
    private func beat(every milliseconds: UInt64, over link: Link) {
        guard milliseconds > 0 else { return }
        poller.schedule(after: milliseconds * 1_000_000) { [weak self] in
            guard let self, !link.hasEnded else { return }
            link.sendHeartbeat()
            beat(every: milliseconds, over: link)
        }
    }

    // MARK: - The end

    func linkEnded(_ link: Link, _ end: LinkEnd) {
        // This comes first: new events then go to the next link, behind the events that the ended link had not
        // delivered.
        peer.renew(after: link)
        typealias Ended = (
            fault: BridgeClientError?, waiters: [CheckedContinuation<Void, Never>],
            watchers: [AsyncStream<EndedLink>.Continuation]
        )
        let (fault, waiters, watchers): Ended = lock.withLock {
            guard current === link else { return (self.fault, [], []) }
            (current, stream, isAttached) = (nil, nil, false)
            if let last = events.take()?.last { lastEvent = last }
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
