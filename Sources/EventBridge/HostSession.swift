import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import EventRouting
import Supervision

/// A host's side of one link: the handshake with a guest, the guest's wishes, and the guest's signs of life.
///
/// The guest is a worker's process or an attached client. The conforming type adds what it knows of its guest, and what
/// it does about the guest. All calls come on the link's reading thread, except `guestWasSilent` and `guestStalled`,
/// which come on the poller's thread; none comes with a lock held.
protocol HostSession: LinkControlSink {
    var link: Link { get }
    var peer: Peer { get }
    /// Nil once the host has gone.
    var router: EventRouter? { get }
    var poller: Poller { get }
    /// The guest's incarnation, which it learns from the welcome.
    var incarnation: UInt64 { get }
    var heartbeat: Heartbeat { get }
    /// How long a frame that the guest has begun may make no progress; nil for any time.
    var frameDeadline: Duration? { get }
    /// The names of the events that the guest may publish; nil for any.
    var publishable: Set<EventName>? { get }
    /// Whether the guest may bring events that come from other machines.
    var mayImport: Bool { get }

    /// Whether the host takes the guest, by what the guest says of itself.
    func judge(_ hello: Hello) -> HostHandshake.Outcome
    /// The guest was told that the host does not take it.
    func guestWasRejected(_ reject: Reject)
    /// The guest has asked for the events that it wants.
    func guestIsReady()
    /// Any other message came, such as a goodbye, or a worker's request for more time.
    func guestSaid(_ message: ControlMessage)
    func guestWasSilent(for time: Duration)
    /// The guest does not go on with a frame; `text` says which limit it has passed.
    func guestStalled(_ text: String)
}

extension HostSession {
    func link(_ link: Link, received message: ControlMessage) throws {
        switch message {
        case .hello(let hello): helloReceived(hello)
        case .interest(let interest): try router?.interestReceived(interest, from: peer, over: link)
        case .ready: guestIsReady()
        default: guestSaid(message)
        }
    }

    private func helloReceived(_ hello: Hello) {
        switch judge(hello) {
        case .reject(let reject):
            link.send(.reject(reject))
            guestWasRejected(reject)
        case .accept(let version):
            if let router { welcome(hello, version, router) }
        }
    }

    private func welcome(_ hello: Hello, _ version: UInt64, _ router: EventRouter) {
        let ownIncarnation = router.publisher.source.incarnation
        // A bookmark is kept under a name, and only a worker has the same name at each start.
        let isMarking = hello.features.contains(.bookmarks) && !peer.isAttached
        let kept = isMarking ? router.publisher.recording.lastBookmark(of: peer.peerName) : .notKept
        var features = peer.isAttached ? [] : link.features
        if mayImport { features.insert(.takesImportedEvents) }
        var bookmark: [UInt8]?
        if case .last(let last) = kept {
            features.insert(.bookmarks)
            bookmark = last?.bytes
        }
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
                    heartbeatMilliseconds: heartbeat.every.milliseconds,
                    features: features,
                    name: peer.isAttached ? peer.peerName : nil,
                    bookmark: bookmark
                )
            )
        )
        link.bringEvents(
            to: PeerEvents(
                of: peer,
                to: router,
                publishable: publishable,
                mayImport: mayImport,
                takesBookmarks: features.contains(.bookmarks)
            )
        )
        link.established(
            peerSource: EventSource(origin: peer.peerName, incarnation: incarnation),
            ownIncarnation: ownIncarnation,
            peerWindowBytes: hello.windowBytes,
            peerWindowEvents: hello.windowEvents,
            peerFrameBytes: hello.frameBytes,
            peerFeatures: peer.isAttached ? hello.features.intersection(.acknowledgesNothing) : hello.features
        )
        // Only a client is added and watched here: a worker is known, and the supervisor times its start.
        if peer.isAttached { router.add(peer) }
        router.announceInterest(to: peer, over: link)
        if peer.isAttached {
            watchSilence()
            watchFrames()
        }
    }

    /// Checks once per interval whether the guest has been silent for too long.
    ///
    /// Silence counts only while the reading thread waits for the guest: as long as there are unread bytes, the guest
    /// is not silent. A late check shows that this process or the machine stood still: the time then counts afresh.
    ///
    /// A worker that speaks lines is not watched: it writes only when it has something to say.
    func watchSilence() {
        if link.speaksLines { return }
        if let watch = SilenceWatch(heartbeat, from: .onMonotonicClock) { look(watch) }
    }

    private func look(_ watch: SilenceWatch) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            let now = MonotonicClock.now()
            let silence = link.silence(at: now).map { Duration.nanoseconds(Int64(clamping: $0)) }
            let found = watch.looked(
                at: .nanoseconds(Int64(clamping: now)),
                silence: silence,
                heartbeats: link.countedHeartbeats?.asWritten
            )
            guard let silence = found else { return look(watch) }
            guestWasSilent(for: silence)
        }
    }

    /// Checks several times within the frames' deadline whether the guest goes on with a frame that it has begun.
    ///
    /// ``watchSilence()`` does not find a guest that sends a frame too slowly, because each byte is a sign of life.
    func watchFrames() {
        guard let deadline = frameDeadline else { return }
        look(ProgressWatch(deadline: deadline, from: .onMonotonicClock), deadline)
    }

    private func look(_ watch: ProgressWatch, _ deadline: Duration) {
        poller.schedule(at: watch.nextLook.nanoseconds) { [weak self] in
            guard let self, !link.hasEnded else { return }
            var watch = watch
            guard watch.looked(at: .onMonotonicClock, progress: link.unfinishedFrame) else {
                return look(watch, deadline)
            }
            guestStalled("a frame that it has begun made no progress for \(deadline.text), which is the limit")
        }
    }
}
