package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// A guest's side of one link to its host: it introduces itself, takes its part in the handshake, shows that it lives,
/// and drains.
///
/// A guest is a worker, or a client that has attached.
package final class GuestSession: LinkControlSink, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The worker or client whose session this is.
    ///
    /// All calls come on the link's reading thread, without a lock held.
    package protocol Owner: AnyObject, Sendable {
        /// The host has accepted the guest.
        ///
        /// - Returns: The receiver of the host's events; nil if the guest has ended meanwhile, and so does not answer
        ///   the welcome.
        func guestWasWelcomed(_ session: GuestSession, _ welcome: Welcome) throws -> PeerEvents?
        func guestWasRejected(_ session: GuestSession, _ reject: Reject)
        /// The host has said which events it wants: what the guest publishes from now on reaches the host.
        func guestIsAttached(_ session: GuestSession)
        func guestWasReadToEnd(_ session: GuestSession, _ end: LinkEnd)
        func guestEnded(_ session: GuestSession, _ end: LinkEnd)
    }

    package let link: Link
    private let poller: Poller
    private weak let owner: (any Owner)?

    private let lock = Lock()
    /// Nil once the link has ended: the socket is then released, however long the session is kept.
    private var stream: (any ByteStream)?
    private var accepted: (welcome: Welcome, events: PeerEvents)?
    private var hasInterest = false
    private var drains = false

    package init(over link: Link, _ stream: any ByteStream, poller: Poller, owner: any Owner) {
        self.link = link
        self.stream = stream
        self.poller = poller
        self.owner = owner
    }

    /// Begins to read, and introduces the guest.
    ///
    /// - Parameter features: the guest's features besides those of its link.
    /// - Throws: If no thread can be started to read the link; another session can then use the link.
    package func begin(
        as name: String,
        cookie: String,
        limits: LinkLimits,
        features: LinkFeatures = []
    ) throws(SystemError) {
        guard let stream = lock.withLock({ stream }) else { return }
        try link.start(over: stream, control: self)
        // The hello follows the start: if the start fails, the next session uses the same link, which must not hold a
        // hello already. Until the hello is sent, the thread that reads the link finds nothing, because a host does not
        // speak first.
        link.send(
            .hello(
                Hello(
                    name: name,
                    cookie: cookie,
                    library: LibraryVersion.text,
                    windowBytes: UInt64(limits.windowBytes),
                    windowEvents: UInt64(limits.windowEvents),
                    frameBytes: UInt64(limits.frameBytes),
                    features: link.features.union(features)
                )
            )
        )
    }

    /// Closes the stream, so that the link ends by itself once it is read to its end.
    ///
    /// `link.close()` would not do: a link closed in that way takes no more events, so new events would go into the
    /// next link while the old link is still read.
    package func endStream() { lock.withLock { stream }?.close() }

    /// What the host has said of itself and of the guest; nil before the welcome.
    package var welcome: Welcome? { lock.withLock { accepted?.welcome } }

    /// Whether the host has said which events it wants.
    package var isAttached: Bool { lock.withLock { hasInterest } }

    /// Whether the host has asked the guest to end.
    package var isDraining: Bool { lock.withLock { drains } }

    /// The identity of the last event that has come; nil if none has come, or if the session does not keep it.
    ///
    /// Only on the thread that reads the link.
    package var lastEvent: EventID? { lock.withLock { accepted?.events }?.last }

    // MARK: - What the link brings

    package func link(_ link: Link, received message: ControlMessage) throws {
        switch message {
        case .welcome(let welcome): try welcomeReceived(welcome)
        case .reject(let reject): owner?.guestWasRejected(self, reject)
        case .interest(let interest): try interestReceived(interest)
        case .drain: drainReceived()
        default: return
        }
    }

    package func linkWasReadToEnd(_ link: Link, _ end: LinkEnd) { owner?.guestWasReadToEnd(self, end) }

    package func linkEnded(_ link: Link, _ end: LinkEnd) {
        lock.withLock { stream = nil }
        owner?.guestEnded(self, end)
    }

    private func welcomeReceived(_ welcome: Welcome) throws {
        guard let events = try owner?.guestWasWelcomed(self, welcome) else { return }
        lock.withLock { accepted = (welcome, events) }
        link.bringEvents(to: events)
        link.established(
            ownSource: events.peer.ownSource,
            peerSource: EventSource(origin: EventRouter.ownName, incarnation: welcome.hostIncarnation),
            ownIncarnation: welcome.workerIncarnation,
            peerWindowBytes: welcome.windowBytes,
            peerWindowEvents: welcome.windowEvents,
            peerFrameBytes: welcome.frameBytes,
            peerFeatures: welcome.features
        )
        events.router.hostHasCome(events.peer, over: link)
        beat(every: welcome.beat)
    }

    private func interestReceived(_ interest: Interest) throws {
        let (events, isFirst) = lock.withLock {
            defer { hasInterest = accepted != nil }
            return (accepted?.events, !hasInterest)
        }
        guard let events else { return }
        try events.router.interestReceived(interest, from: events.peer, over: link, replacesWishes: isFirst)
        guard isFirst else { return }
        events.peer.releaseEvents(over: link)
        owner?.guestIsAttached(self)
    }

    /// Finishes what has arrived, waits until the host has acknowledged what followed from it, and says goodbye.
    private func drainReceived() {
        let isFirst = lock.withLock {
            defer { drains = true }
            return !drains
        }
        if isFirst { link.whenDrained { [link] in link.finish(reason: .shutdown, text: "drained") } }
    }

    /// Sends a heartbeat at each interval, on the poller's thread, which no handler can block.
    private func beat(every milliseconds: UInt64) {
        guard milliseconds > 0 else { return }
        poller.schedule(after: milliseconds * 1_000_000) { [weak self] in
            guard let self, !link.hasEnded else { return }
            link.sendHeartbeat()
            beat(every: milliseconds)
        }
    }
}
