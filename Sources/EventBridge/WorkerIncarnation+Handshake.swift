import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Locks
import Supervision

/// How a start of a worker comes to get events: by its handshake, and, if it replaces another process, by the end of
/// that process.
extension WorkerIncarnation {
    func helloReceived(_ hello: Hello) {
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
                        windowBytes: UInt64(peer.limits.windowBytes),
                        windowEvents: UInt64(peer.limits.windowEvents),
                        frameBytes: UInt64(peer.limits.frameBytes),
                        heartbeatMilliseconds: specification.child.heartbeat.every.milliseconds,
                        features: link.features
                    )
                )
            )
            link.bringEvents(to: PeerEvents(of: peer, to: owner.router, publishable: publishable))
            link.established(
                peerSource: EventSource(origin: specification.name, incarnation: incarnation),
                ownIncarnation: owner.hostIncarnation,
                peerWindowBytes: hello.windowBytes,
                peerWindowEvents: hello.windowEvents,
                peerFrameBytes: hello.frameBytes,
                peerFeatures: hello.features
            )
            owner.router.announceInterest(to: peer, over: link)
        }
    }

    /// The names of the events that the worker may publish, with its runtime's own reports; nil for any.
    private var publishable: Set<EventName>? {
        let always = [
            EventRefused.eventName, EventsDropped.eventName, EventsTraced.eventName, HandlerFailed.eventName,
        ]
        return specification.publishes.map { EventName.set($0 + always) }
    }

    func readyReceived() {
        guard let owner else { return }
        let missing = owner.router.missingInterest(of: peer, in: specification.subscribes, over: link)
        guard missing.isEmpty else {
            owner.incarnationViolated(
                self,
                .handshakeRejected(
                    "it says that it is ready but has not subscribed to \(missing.sorted().joined(separator: ", "))"
                )
            )
            return
        }
        let (isSuccessor, isKept) = lock.withLock {
            isReady = true
            return (self.isSuccessor, keepsEvents)
        }
        if !isSuccessor, !isKept { peer.releaseEvents(over: link) }
        owner.incarnationBecameReady(self)
        watchHeartbeat()
        watchHandlers()
        watchFrames()
        if !isSuccessor { watchIdleness() }
    }

    // MARK: - Replacement

    /// Sends no more events to this process: the host keeps them for the next process.
    ///
    /// - Returns: Whether this start had been ready. If not, its link still lets events pass, as the next start may use
    ///   the same link.
    func keepEvents() -> Bool {
        let wasReady = lock.withLock {
            keepsEvents = true
            return isReady
        }
        if wasReady { link.keepEvents() }
        return wasReady
    }

    /// Takes the place of the previous process, which has ended, and gets the events kept for the worker.
    func cutOver() {
        lock.withLock { isSuccessor = false }
        peer.succeed(by: link)
        watchIdleness()
    }
}
