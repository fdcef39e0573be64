package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// The way to one peer, whichever of its incarnations lives: its wishes, and the link of its present or next
/// incarnation.
package final class Route: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, but for the links' interest, which the router's lock guards.

    package let peerName: String
    private let role: LinkPhaseMachine.Role
    private let ownSource: EventSource
    package let limits: LinkLimits
    let poller: Poller
    /// Whether another link follows one that has ended.
    private let isRenewed: Bool
    /// Whether the peer has attached, and so nothing waits for it: see `Route+Attached.swift`.
    let isAttached: Bool

    let lock = Lock()
    @exclusivity(unchecked) var current: Link
    /// Why the route takes no events for the peer; nil while it takes them.
    @exclusivity(unchecked) var closure: Closure?
    /// The pool in which the peer shares events; set before the router knows the route.
    package var pool: RoutePool?
    @exclusivity(unchecked) var counts = RouteCounts()
    /// Notes the spans of events, if a subscriber or a peer wants them.
    @exclusivity(unchecked) private var recorder: SpanRecorder?
    /// Whether no event may leave for the peer for now, over any link.
    @exclusivity(unchecked) var isPaused = false
    /// Whether the peer runs, or is started without waiting for another peer's end: see ``setStartsByItself(_:)``.
    var startsByItself = true
    /// Takeovers that wait for the peer's room, with the peer that left the events; called when this peer is paused, or
    /// does not start by itself.
    var takeOversWaiting: [(sender: Route, body: @Sendable () -> Void)] = []
    /// Decides whether the peer or an event pays for a crash.
    var ledger: CrashLedger

    /// How many unknown event names its incarnations have brought.
    ///
    /// Guarded by the router's lock for look-ups.
    var newNames = 0

    /// The link of a process that will take the place of the present one; no event leaves over it yet.
    var successor: Link?
    /// Links that ended while a thread was putting an event into them and other outboxes: see ``releaseEvents(over:)``.
    private(set) var departed: [Link] = []
    private var specifiedNow: Set<EventName>

    /// Whether the peer is leaving for good, and so gets no more of the events in its specification.
    ///
    /// Guarded by the router's lock.
    var isLeaving = false
    /// The names that its links take no more; nil unless the peer is leaving.
    @exclusivity(unchecked) private var leftNames: LeftNames?
    /// The peers that wait for an answer of this one; the takeover of the events that it left does not wait for their
    /// room (see `TakeOverGate`).
    var askers: Set<ObjectIdentifier> = []

    /// What the peer wants, and what it was asked for.
    var interest = RouteInterest()

    /// Why the route takes no events for the peer.
    struct Closure {
        let reason: String
        /// Whether the peer was given up, so that its events become dead letters.
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

    /// Whether some events have an overflow policy other than `wait`.
    var hasPolicies: Bool { !limits.overflow.isPlain }

    /// The link of the present incarnation, or of the next while the peer is down.
    package var link: Link { lock.withLock { current } }

    /// Puts a new link in the place of one that has ended, and moves its undelivered events there.
    ///
    /// Any number of threads may call this.
    package func renew(after ended: Link) {
        guard isRenewed else { return }
        lock.withLock {
            guard current === ended else { return }
            let next = makeLink()
            ended.moveUnsettled(to: next)
            putInPlace(next)
        }
    }

    /// Makes another link the present one; the events were moved there.
    ///
    /// With the lock held.
    func putInPlace(_ next: Link) {
        counts.ended.add(current.tally.tally)
        // The link has ended, so no more events are put into it.
        if current.isHolding { departed.append(current) }
        askers = []
        current = next
    }

    /// Lets events leave over `link` once no thread is still putting an event of an earlier link into the outboxes of
    /// several peers.
    ///
    /// Such an event was moved to `link` without being held, so the peer could answer it before the others have it. A
    /// publishing thread needs microseconds for this, unless it loses its processor.
    package func releaseEvents(over link: Link) {
        let isHeld = lock.withLock {
            departed.removeAll { !$0.isHolding }
            return !departed.isEmpty
        }
        guard isHeld else { return link.releaseEvents() }
        poller.schedule(after: Self.holdingTime) { [self] in releaseEvents(over: link) }
    }

    /// How many nanoseconds pass before another look whether the event lies in all outboxes.
    private static let holdingTime: UInt64 = 50_000

    /// The counts of the peer's events so far.
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

    /// Takes no more of the events in the peer's specification, not even from threads that already chose the peer.
    ///
    /// The caller changes the targets before this, so a thread that is turned away can work out the targets again.
    ///
    /// - Parameter reports: the bridge's reports about itself, which ``EventName/everything`` does not include.
    func leave(but reports: Set<EventName>) {
        lock.withLock {
            let isEverything = specifiedNow.contains(EventName.everything)
            let left = LeftNames(specifiedNow, andAllBut: isEverything ? reports : nil)
            leftNames = left
            current.leave(left)
            successor?.leave(left)
        }
    }

    /// Whether events of this name go to other peers now, because this one is leaving or has gone.
    func hasLeft(_ name: String) -> Bool { lock.withLock { hasLeftNow(name) } }

    /// With the lock held.
    private func hasLeftNow(_ name: String) -> Bool { leftNames?.contains(name) ?? false }

    /// What happens to an event for the peer.
    private enum Taker {
        case link(Link)
        /// Such events go to other peers now.
        case left
        /// The route takes no events, for this reason.
        case closed(String)
    }

    private func taker(of name: String) -> Taker {
        lock.withLock {
            // Also if it is down for good by now.
            if hasLeftNow(name) { return .left }
            return closure.map { .closed($0.reason) } ?? .link(current)
        }
    }

    /// Begins to note the spans of events, or ceases to.
    ///
    /// - Parameter recorder: nil to cease.
    func setTrace(_ recorder: SpanRecorder?) {
        lock.withLock {
            self.recorder = recorder
            current.setTrace(recorder)
            successor?.setTrace(recorder)
        }
    }

    /// Takes no more events for the peer: it was given up or has stopped for good.
    ///
    /// Events in the outbox are kept.
    ///
    /// - Parameter isGivenUp: whether the peer was given up, so that its events become dead letters.
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

    /// Whether the peer was given up: the route takes no events until a caller asks for its restart.
    var isGivenUp: Bool { lock.withLock { closure?.isGivenUp ?? false } }

    /// The place of an event in an outbox.
    struct Place {
        let link: Link
        let sequence: UInt64
        /// Whether the event lies beyond the limit where waiting begins.
        let isCrowded: Bool
        /// The events that a policy has taken out for it, or the event itself if it was dropped.
        let displaced: [Displaced]
    }

    /// Keeps room for an event in the outbox.
    ///
    /// - Returns: The room; or a refusal, because such events go to other peers now, or because waiting has begun and
    ///   `ifThereIsRoom` is set.
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

    /// The error for a waiting publisher whose event does not go to the peer any more, because the peer is leaving.
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

    /// Puts an event into the outbox; a held event stays there until the link releases it.
    ///
    /// - Parameter reservation: the room that was kept for it.
    /// - Returns: Nil if the peer is leaving, so that such events go to other peers now.
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

    /// Puts an event that goes nowhere else into the outbox, and writes it.
    ///
    /// An event that is not taken counts as never offered.
    ///
    /// - Parameter ifThereIsRoom: whether the outbox does not take the event once waiting has begun.
    /// - Returns: Nil if the peer is leaving, so that such events go to other peers now.
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

    /// Called when one of the peer's incarnations has broken the protocol.
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
            // The caller's turn has come, though other events may have filled the room since.
            if !link.hasEnded { break }
            renew(after: link)
        }
        // If such events go to other peers now, publishing the event finds them.
        if let closed = lock.withLock({ hasLeftNow(name) ? nil : closure?.reason }) {
            throw DeliveryError(
                .workerUnavailable,
                of: name,
                at: peerName,
                "\(name) was not taken: worker \"\(peerName)\" is unavailable: \(closed)"
            )
        }
    }

    /// Calls `body` once the outbox is below the limit where waiting begins, or the route takes no more events.
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

    /// Whether the events that the peer published pile up in its own outbox; false if the route takes no more events.
    var isBackedUp: Bool {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        return !isClosed && link.hasBacklog
    }

    /// Calls `body` once the events that the peer published get through, the peer has ended, or the route takes no more
    /// events.
    func whenNotBackedUp(_ body: @escaping @Sendable () -> Void) {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        if isClosed || !link.whenNotBackedUp(body) { return body() }
        // Closed just now: no other call would wake the body that waits here.
        if closedReason != nil { link.wakeWaiters() }
    }

    /// Calls `body` once, when an event lies here for the peer, which is down; at once if one does already.
    package func whenDemanded(_ body: @escaping @Sendable () -> Void) {
        let link = self.link
        link.whenDemanded { [weak self] in
            guard let self else { return }
            guard link.hasEnded, isRenewed else { return body() }
            renew(after: link)
            whenDemanded(body)
        }
    }

    /// Whether the outbox is so full that takeovers for this peer have to wait.
    var isOverfull: Bool {
        let (link, mayWait) = lock.withLock { (current, closure == nil && startsByItself) }
        return mayWait && link.isOverfull
    }

    /// Calls `body` once the outbox is below the limit where waiting begins, the route takes no more events, the peer
    /// is paused, or it does not start by itself; in rare cases twice.
    func whenNotOverfull(for sender: Route, _ body: @escaping @Sendable () -> Void) {
        let mayWait = lock.withLock {
            let mayWait = !isPaused && startsByItself
            // This replaces the sender's earlier wait.
            if mayWait {
                takeOversWaiting.removeAll { $0.sender === sender }
                takeOversWaiting.append((sender, body))
            }
            return mayWait
        }
        if !mayWait { return body() }
        whenRoom(body)
    }

    /// Says whether the peer runs, or is started without waiting for another peer's end.
    ///
    /// Otherwise it may be started only when the takeover of another peer's events is over. A takeover that waited for
    /// its room would wait for ever.
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

    /// The names that the peer's specification subscribes to; their events are kept while the peer is down.
    var specified: Set<EventName> { lock.withLock { specifiedNow } }

    func specify(_ names: Set<EventName>) {
        lock.withLock { specifiedNow = names }
    }
}
