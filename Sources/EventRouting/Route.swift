package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// The way to one peer, whichever incarnation of it lives: what it wants, and the link of its present or next
/// incarnation.
package final class Route: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, but for the links' interest, which the router's lock guards.

    package let peerName: String
    private let role: LinkPhaseMachine.Role
    private let ownSource: EventSource
    package let limits: LinkLimits
    let poller: Poller
    /// Whether a link that has ended is followed by another.
    private let isRenewed: Bool
    /// Whether nothing waits for the peer, which has attached: see `Route+Attached.swift`.
    let isAttached: Bool

    let lock = Lock()
    @exclusivity(unchecked) var current: Link
    /// Why nothing is taken for the peer; nil as long as events are.
    @exclusivity(unchecked) var closure: Closure?
    /// With whom the peer shares events; set before the router knows the route.
    package var pool: RoutePool?
    @exclusivity(unchecked) var counts = RouteCounts()
    /// Notes how events get on, if a subscriber or a peer wants to know.
    @exclusivity(unchecked) private var recorder: SpanRecorder?
    /// Whether no event leaves for the peer for now, whichever link is the present one.
    @exclusivity(unchecked) var isPaused = false
    /// Whether the peer runs, or is started without another peer's end: see ``setStartsByItself(_:)``.
    var startsByItself = true
    /// Those who wait for room with what others have left for the peer, by who waits: called when it is paused, or does
    /// not start by itself.
    var takeOversWaiting: [(sender: Route, body: @Sendable () -> Void)] = []
    /// What its crashes have come to.
    var ledger: CrashLedger

    /// How many event names its incarnations have brought that were not known here.
    ///
    /// Guarded by the router's lock for look-ups.
    var newNames = 0

    /// The link of a process that is to take the place of the present one, and over which no event leaves yet.
    var successor: Link?
    /// Links that have ended while a thread was between them and other outboxes with an event: see
    /// ``releaseEvents(over:)``.
    private(set) var departed: [Link] = []
    private var specifiedNow: Set<EventName>

    /// Whether it gets nothing more of what its specification says, as it is about to go for good.
    ///
    /// Guarded by the router's lock.
    var isLeaving = false
    /// What its links take no more; nil as long as it is to stay.
    @exclusivity(unchecked) private var leftNames: LeftNames?
    /// The peers that wait for an answer of this one, and for whose room the takeover of what it has left does not
    /// wait; see `TakeOverGate`.
    var askers: Set<ObjectIdentifier> = []

    /// What the peer wants, and was told of what is wanted of it.
    var interest = RouteInterest()

    /// Why nothing is taken for the peer.
    struct Closure {
        let reason: String
        /// Whether the peer was given up, so that what it was to get is dead-lettered.
        let isGivenUp: Bool
    }

    package init(
        peerName: String,
        role: LinkPhaseMachine.Role,
        ownSource: EventSource,
        limits: LinkLimits,
        specified: Set<EventName> = [],
        strikes: Int = 3,
        isRenewed: Bool,
        poller: Poller,
        first: Link? = nil,
        isAttached: Bool = false
    ) {
        self.peerName = peerName
        self.role = role
        self.ownSource = ownSource
        self.limits = limits
        specifiedNow = specified
        self.isRenewed = isRenewed
        self.isAttached = isAttached
        self.poller = poller
        ledger = CrashLedger(strikeLimit: strikes)
        current =
            first ?? Link(peerName: peerName, role: role, ownSource: ownSource, limits: limits, poller: poller)
    }

    /// Whether some events are not to wait for room.
    var hasPolicies: Bool { !limits.overflow.isPlain }

    /// The link of the present incarnation, or of the next while the peer is down.
    package var link: Link { lock.withLock { current } }

    /// Puts a fresh link in the place of one that has ended, with all that it had not delivered.
    ///
    /// Any number of callers.
    package func renew(after ended: Link) {
        guard isRenewed else { return }
        lock.withLock {
            guard current === ended else { return }
            let next = makeLink()
            ended.moveUnsettled(to: next)
            putInPlace(next)
        }
    }

    /// Makes another link the present one, to which everything was moved.
    ///
    /// With the lock held.
    func putInPlace(_ next: Link) {
        counts.ended.add(current.tally.tally)
        // It has ended: nothing more is put into it.
        if current.isHolding { departed.append(current) }
        askers = []
        current = next
    }

    /// Lets events leave as soon as no thread is between the outboxes of several peers any more with an event that was
    /// put into a link before this.
    ///
    /// That event was moved here without being held, and the peer could answer it before the others have it. A thread
    /// that publishes needs microseconds, unless it loses its processor.
    package func releaseEvents(over link: Link) {
        let isHeld = lock.withLock {
            departed.removeAll { !$0.isHolding }
            return !departed.isEmpty
        }
        guard isHeld else { return link.releaseEvents() }
        poller.schedule(after: Self.holdingTime) { [self] in releaseEvents(over: link) }
    }

    /// After how many nanoseconds it is looked again whether an event lies in all outboxes.
    private static let holdingTime: UInt64 = 50_000

    /// What has become of the peer's events so far.
    package var statistics: RouteStatistics {
        lock.withLock {
            let (tally, waiting, waitingBytes) = current.tally
            var all = counts.ended
            all.add(tally)
            return RouteStatistics(
                offered: all.accepted + counts.rejected,
                rejected: counts.rejected,
                deadLettered: counts.deadLettered,
                violations: counts.violations,
                tally: all,
                waiting: waiting,
                waitingBytes: waitingBytes
            )
        }
    }

    /// With the lock held.
    func makeLink() -> Link {
        let made = Link(peerName: peerName, role: role, ownSource: ownSource, limits: limits, poller: poller)
        if isPaused { made.setPaused(true) }
        if let recorder { made.setTrace(recorder) }
        if let leftNames { made.leave(leftNames) }
        return made
    }

    /// Takes nothing more of what its specification says, not even from threads that found it wanted before.
    ///
    /// Behind the change of the targets: a thread that is told so finds out anew who gets the event.
    ///
    /// - Parameter reports: the bridge's reports about itself, for which ``EventName/everything`` does not stand.
    func leave(but reports: Set<EventName>) {
        lock.withLock {
            let isEverything = specifiedNow.contains(EventName.everything)
            let left = LeftNames(specifiedNow, andAllBut: isEverything ? reports : nil)
            leftNames = left
            current.leave(left)
            successor?.leave(left)
        }
    }

    /// Whether events of this name go to others now, as the peer is leaving or has gone.
    func hasLeft(_ name: String) -> Bool { lock.withLock { hasLeftNow(name) } }

    /// With the lock held.
    private func hasLeftNow(_ name: String) -> Bool { leftNames?.contains(name) ?? false }

    /// What becomes of an event that is for the peer.
    private enum Taker {
        case link(Link)
        /// Such events go to others now.
        case left
        /// Nothing is taken for the peer, for a reason.
        case closed(String)
    }

    private func taker(of name: String) -> Taker {
        lock.withLock {
            // Also if it is down for good by now.
            if hasLeftNow(name) { return .left }
            return closure.map { .closed($0.reason) } ?? .link(current)
        }
    }

    /// Begins to note how events get on, or ceases to.
    ///
    /// - Parameter recorder: nil to cease.
    func setTrace(_ recorder: SpanRecorder?) {
        lock.withLock {
            self.recorder = recorder
            current.setTrace(recorder)
            successor?.setTrace(recorder)
        }
    }

    /// Says why nothing is taken for the peer any more: it was given up or has stopped for good.
    ///
    /// What lies in the outbox is kept.
    ///
    /// - Parameter isGivenUp: whether it was given up, so that what it was to get is dead-lettered.
    package func close(because reason: String, isGivenUp: Bool = false) {
        let link = lock.withLock {
            closure = Closure(reason: reason, isGivenUp: isGivenUp)
            return current
        }
        link.wakeWaiters()
    }

    /// Takes events for the peer again.
    package func reopen() {
        lock.withLock { closure = nil }
    }

    package var closedReason: String? { lock.withLock { closure?.reason } }

    /// Whether the peer was given up: nothing is taken for it until its restart is asked for.
    var isGivenUp: Bool { lock.withLock { closure?.isGivenUp ?? false } }

    /// Where an event was put.
    struct Place {
        let link: Link
        let sequence: UInt64
        /// Whether it lies beyond the limit where waiting begins.
        let isCrowded: Bool
        /// What a policy has taken out for it, or the event itself if it was dropped.
        let displaced: [Displaced]
    }

    /// Keeps room for an event in the outbox.
    ///
    /// - Returns: The room, or that there is none: as such events go to others now, or as it is to be kept only if
    ///   there is room, and waiting has begun.
    func reserve(
        for payload: UnsafeRawBufferPointer,
        name: String,
        ifThereIsRoom: Bool
    ) throws(DeliveryError) -> Link.Reserving {
        while true {
            let link: Link
            switch taker(of: name) {
            case .link(let present): link = present
            case .left: return .refused(.left)
            case .closed(let reason): throw unavailable(name, reason)
            }
            let kept = link.reserve(for: payload, name: name, ifThereIsRoom: ifThereIsRoom)
            switch kept {
            case .reserved, .refused(.crowded): return kept
            case .refused(.ended) where isRenewed: renew(after: link)
            case .refused(let problem): throw refusal(of: name, problem)
            }
        }
    }

    /// What a waiting publisher is told of an event that the peer, which is about to go, does not get any more.
    func leaving(_ name: String) -> DeliveryError { unavailable(name, "it is being removed") }

    private func unavailable(_ name: String, _ reason: String) -> DeliveryError {
        DeliveryError(
            .workerUnavailable,
            of: name,
            at: peerName,
            "worker \"\(peerName)\" does not take \(name): \(reason)"
        )
    }

    private func refusal(of name: String, _ problem: Enqueued) -> DeliveryError {
        switch problem {
        case .tooLarge(let size, let limit):
            DeliveryError(
                .eventTooLarge,
                of: name,
                at: peerName,
                "\(name) was not taken: its payload has \(size) bytes, \(peerName) takes \(limit)"
            )
        case .full(let limit):
            DeliveryError(
                .outboxFull,
                of: name,
                at: peerName,
                "\(name) was not taken: the outbox to \(peerName) is at its limit of \(limit) bytes"
            )
        case .ended, .finished, .accepted, .dropped, .crowded, .left:
            DeliveryError(
                .workerUnavailable,
                of: name,
                at: peerName,
                "\(name) was not sent: the link to \(peerName) has ended"
            )
        }
    }

    /// Puts an event into the outbox; if held, it stays there until the link releases it.
    ///
    /// - Parameter reservation: the room that was kept for it.
    /// - Returns: Nil if the peer is leaving, and such events go to others now.
    func enqueue(
        _ context: EventContext,
        name: String,
        number: UInt64 = 0,
        attempt: Int = 1,
        isHeld: Bool,
        wantsReceipt: Bool = false,
        isAccepted: Bool = false,
        reservation: Link.Reservation? = nil,
        payload: UnsafeRawBufferPointer
    ) throws(DeliveryError) -> Place? {
        while true {
            let link: Link
            switch taker(of: name) {
            case .link(let present): link = present
            case .left:
                reservation?.cancel()
                return nil
            case .closed(let reason):
                reservation?.cancel()
                countRejected()
                throw unavailable(name, reason)
            }
            var displaced: [Displaced] = []
            let outcome = link.enqueue(
                context,
                name: name,
                number: number,
                attempt: UInt64(attempt),
                isHeld: isHeld,
                wantsReceipt: wantsReceipt,
                isAccepted: isAccepted,
                reservation: reservation,
                payload: payload,
                displaced: &displaced
            )
            switch outcome {
            case .accepted(let sequence, let isCrowded):
                return Place(link: link, sequence: sequence, isCrowded: isCrowded, displaced: displaced)
            case .dropped:
                return Place(link: link, sequence: 0, isCrowded: false, displaced: displaced)
            case .ended where isRenewed: renew(after: link)
            case .left:
                reservation?.cancel()
                return nil
            default:
                countRejected()
                throw refusal(of: name, outcome)
            }
        }
    }

    /// Puts an event that goes nowhere else into the outbox, and has it written.
    ///
    /// One that is not taken counts as never offered.
    ///
    /// - Parameter ifThereIsRoom: whether it is not taken where waiting begins.
    /// - Returns: Nil if the peer is leaving, and such events go to others now.
    func send(
        _ context: EventContext,
        name: NamedEvents,
        payload: UnsafeRawBufferPointer,
        ifThereIsRoom: Bool
    ) -> Forwarded? {
        while true {
            switch taker(of: name.name) {
            case .left: return nil
            case .closed(let reason): return .failed(unavailable(name.name, reason))
            case .link(let link):
                let outcome = link.send(
                    context,
                    name: name.name,
                    number: name.number,
                    payload: payload,
                    ifThereIsRoom: ifThereIsRoom
                )
                switch outcome {
                case .accepted: return .taken
                case .crowded: return .awaitsRoom
                case .left: return nil
                case .ended where isRenewed: renew(after: link)
                default: return .failed(refusal(of: name.name, outcome))
                }
            }
        }
    }

    /// One of its incarnations has broken the protocol.
    package func countViolation() {
        lock.withLock { counts.violations += 1 }
    }

    private func countRejected() {
        lock.withLock { counts.rejected += 1 }
    }

    func hasRoom(for name: String) -> Bool {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        return isClosed || link.hasRoom(for: name)
    }

    func waitForRoom(for name: String) async throws {
        while !hasRoom(for: name) {
            let link = self.link
            try await link.waitForRoom {
                // Closed just now: nothing else would wake the caller that waits here.
                if self.closedReason != nil { link.wakeWaiters() }
            }
            // Its turn has come, though others may have filled the room since.
            if !link.hasEnded { break }
            renew(after: link)
        }
        // Where such events go to others now, they are found when it is published.
        if let closed = lock.withLock({ hasLeftNow(name) ? nil : closure?.reason }) {
            throw DeliveryError(
                .workerUnavailable,
                of: name,
                at: peerName,
                "\(name) was not taken: worker \"\(peerName)\" is unavailable: \(closed)"
            )
        }
    }

    /// Calls `body` once the outbox is below the limit where waiting begins, or nothing is taken for the peer any more.
    func whenRoom(_ body: @escaping @Sendable () -> Void) {
        while true {
            let (link, closed) = lock.withLock { (current, closure?.reason) }
            if closed != nil { return body() }
            let isWaiting = link.whenRoom { [self] in
                if link.hasEnded { whenRoom(body) } else { body() }
            }
            if isWaiting {
                // Closed just now: nothing else would wake the caller that waits here.
                if closedReason != nil { link.wakeWaiters() }
                return
            }
            guard link.hasEnded, isRenewed else { return body() }
            renew(after: link)
        }
    }

    /// Whether what the peer has published piles up in its own outbox; not if nothing is taken for it any more.
    var isBackedUp: Bool {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        return !isClosed && link.hasBacklog
    }

    /// Calls `body` once what the peer has published gets through, the peer has ended, or nothing is taken for it any
    /// more.
    func whenNotBackedUp(_ body: @escaping @Sendable () -> Void) {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        if isClosed || !link.whenNotBackedUp(body) { return body() }
        // Closed just now: no other call would wake what waits here.
        if closedReason != nil { link.wakeWaiters() }
    }

    /// Calls `body` once when something lies here for the peer, which is down; at once if it does already.
    package func whenDemanded(_ body: @escaping @Sendable () -> Void) {
        let link = self.link
        link.whenDemanded { [weak self] in
            guard let self else { return }
            guard link.hasEnded, isRenewed else { return body() }
            renew(after: link)
            whenDemanded(body)
        }
    }

    /// Whether so much is kept for the peer that what others have left for it has to wait.
    var isOverfull: Bool {
        let (link, mayWait) = lock.withLock { (current, closure == nil && startsByItself) }
        return mayWait && link.isOverfull
    }

    /// Calls `body` once the outbox is below the limit where waiting begins, nothing is taken for the peer any more, it
    /// is paused, or it does not start by itself; in rare cases twice.
    func whenNotOverfull(for sender: Route, _ body: @escaping @Sendable () -> Void) {
        let mayWait = lock.withLock {
            let mayWait = !isPaused && startsByItself
            // In the place of what the sender has waited for before.
            if mayWait {
                takeOversWaiting.removeAll { $0.sender === sender }
                takeOversWaiting.append((sender, body))
            }
            return mayWait
        }
        if !mayWait { return body() }
        whenRoom(body)
    }

    /// Says whether the peer runs, or is started without anybody else's end.
    ///
    /// Otherwise it may be started only when the takeover of what another has left is over: who waited for its room
    /// there would wait for ever.
    package func setStartsByItself(_ startsByItself: Bool) {
        let woken = lock.withLock {
            self.startsByItself = startsByItself
            defer { if !startsByItself { takeOversWaiting = [] } }
            return startsByItself ? [] : takeOversWaiting
        }
        for waiting in woken { waiting.body() }
    }

    /// Whether the peer wants the events of this name.
    ///
    /// Under the router's lock.
    func wants(_ name: String, isSelfReport: Bool) -> Bool {
        if isLeaving { return has(asked: name) && !isSpecified(name, isSelfReport: isSelfReport) }
        return isSpecified(name, isSelfReport: isSelfReport) || has(asked: name)
            || (!isSelfReport && has(asked: EventName.everything.text))
    }

    /// Under the router's lock.
    private func has(asked name: String) -> Bool { interest.present?.asked.contains(EventName(name)) == true }

    /// What the peer subscribes to by its specification: kept for it while it is down.
    var specified: Set<EventName> { lock.withLock { specifiedNow } }

    func specify(_ names: Set<EventName>) {
        lock.withLock { specifiedNow = names }
    }
}
