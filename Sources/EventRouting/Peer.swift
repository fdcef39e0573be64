package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// One peer, over all its incarnations: its wishes, and the link of its present or next incarnation.
package final class Peer: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, except `pool`, `newNames`, and what the router's lock guards:
    // `isLeaving` and `interest`.

    package let peerName: String
    /// This process's role towards the peer.
    let role: LinkPhaseMachine.Role
    let ownSource: EventSource
    package let limits: LinkLimits
    let poller: Poller
    /// Whether a new link takes the place of a link that has ended.
    let isRenewed: Bool
    /// Whether the peer has attached, and so nothing waits for it: see `Peer+Attached.swift`.
    package let isAttached: Bool

    let lock = Lock()
    @exclusivity(unchecked) var current: Link
    /// Why no events are taken for the peer; nil while events are taken.
    @exclusivity(unchecked) var closure: Closure?
    /// The pool in which the peer shares events; set before the router knows the peer.
    package var pool: PeerPool?
    @exclusivity(unchecked) var counts = PeerCounts()
    /// Notes the spans of events, if a subscriber or a peer wants them.
    @exclusivity(unchecked) private var recorder: SpanRecorder?
    /// Whether no event may leave for the peer for now, over any link.
    @exclusivity(unchecked) var isPaused = false
    /// Whether the peer runs, or its next start waits for no other peer: see ``setStartsByItself(_:)``.
    var startsByItself = true
    /// The bodies of recoveries that wait for this peer's room; they are called when this peer is paused, or does not
    /// start by itself.
    var recoveriesWaiting: [(recovery: ObjectIdentifier, body: @Sendable () -> Void)] = []
    /// Decides whether the peer or an event is to blame for a crash.
    var ledger: CrashLedger

    /// How many unknown event names the peer's incarnations have brought.
    ///
    /// Guarded by the lock of ``EventNames``.
    var newNames = 0

    /// The link of the process that will take the present process's place; no event leaves over this link yet.
    var successor: Link?
    /// Links that ended while a thread was putting an event into them and other outboxes: see ``releaseEvents(over:)``.
    @exclusivity(unchecked) private(set) var departed: [Link] = []
    private var specifiedNow: Set<EventName>

    /// Whether the peer is leaving for good, and so gets no more of the events in its specification.
    ///
    /// Guarded by the router's lock.
    var isLeaving = false
    /// The names whose events the peer's links no longer take; nil if the peer is not leaving.
    @exclusivity(unchecked) private var leftNames: LeftNames?
    /// The peers that wait for an answer of this peer; the recovery of this peer's events does not wait for room at
    /// these peers (see `RecoveryGate`).
    @exclusivity(unchecked) var requesters: Set<ObjectIdentifier> = []

    /// The names that the peer wants, and the names that it was asked for.
    var interest = PeerInterest()

    /// Why no events are taken for the peer.
    struct Closure {
        let reason: String
        /// Whether the peer was given up; if so, new events for it become dead letters.
        let isGivenUp: Bool
        /// The callers that wait until the peer takes events again, in the order in which they came.
        var waiting: [(id: UInt64, wake: @Sendable () -> Void)] = []
    }

    package init(
        peerName: String,
        role: LinkPhaseMachine.Role,
        ownSource: EventSource,
        limits: LinkLimits,
        specified: Set<EventName> = [],
        strikes: Int? = 3,
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

    /// Puts a new link in the place of a link that has ended, and moves the unsettled events to the new link.
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
    /// The caller holds the lock.
    func putInPlace(_ next: Link) {
        assert(onlyLink == nil, "a worker's link to its host is never replaced")
        counts.ended.add(current.tally.tally)
        // The present link has ended, so no more events are put into it.
        if current.isHolding { departed.append(current) }
        requesters = []
        current = next
    }

    /// Lets events leave over `link` once no thread is still putting an event of an earlier link into the outboxes of
    /// several peers.
    ///
    /// Such an event was moved to `link` without being held, so the peer could answer it before the other peers have
    /// it. A publishing thread needs microseconds to reach all outboxes, unless it loses its processor.
    package func releaseEvents(over link: Link) {
        let isHeld = lock.withLock {
            departed.removeAll { !$0.isHolding }
            return !departed.isEmpty
        }
        guard isHeld else { return link.releaseEvents() }
        poller.schedule(after: Self.holdingTime) { [self] in releaseEvents(over: link) }
    }

    /// How many nanoseconds pass until the next check whether the event lies in all outboxes.
    private static let holdingTime: UInt64 = 50_000

    /// The counts of the peer's events so far.
    package var statistics: PeerStatistics {
        lock.withLock {
            let (tally, waiting, waitingBytes) = current.tally
            var all = counts.ended
            all.add(tally)
            return PeerStatistics(
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

    /// The caller holds the lock.
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
    /// If this adds to the names that the peer has left, the caller then wakes the publishers that wait for room here,
    /// without the router's lock.
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

    /// Whether events of this name go to other peers now, because this peer is leaving or has gone.
    func hasLeft(_ name: String) -> Bool { lock.withLock { hasLeftNow(name) } }

    /// The caller holds the lock.
    func hasLeftNow(_ name: String) -> Bool { leftNames?.contains(name) ?? false }

    /// Starts or stops noting the spans of events; `recorder` is nil to stop.
    func setTrace(_ recorder: SpanRecorder?) {
        lock.withLock {
            self.recorder = recorder
            current.setTrace(recorder)
            successor?.setTrace(recorder)
        }
    }

    /// Takes no more events for the peer until ``reopen()``: the peer was given up, stopped or removed.
    ///
    /// Events in the outbox are kept.
    ///
    /// - Parameter isGivenUp: whether the peer was given up; if so, new events for it become dead letters.
    package func close(because reason: String, isGivenUp: Bool = false) {
        let link = lock.withLock {
            closure = Closure(reason: reason, isGivenUp: isGivenUp, waiting: closure?.waiting ?? [])
            return current
        }
        link.wakeWaiters()
    }

    /// Takes events for the peer again, and wakes the callers that wait for that.
    package func reopen() {
        let woken = lock.withLock {
            defer { closure = nil }
            return closure?.waiting ?? []
        }
        for waiting in woken { waiting.wake() }
    }

    /// What sentences for people call the peer.
    var sentenceName: String { role == .worker ? "the host" : "worker \"\(peerName)\"" }

    package var closedReason: String? { lock.withLock { closure?.reason } }

    /// Whether the peer was given up: the peer takes no events until a caller asks for its restart.
    var isGivenUp: Bool { lock.withLock { closure?.isGivenUp ?? false } }

    /// Called when one of the peer's incarnations has broken the protocol.
    package func countViolation() {
        lock.withLock { counts.violations += 1 }
    }

    /// Whether the peer wants the events of this name.
    ///
    /// The caller holds the router's lock.
    func wants(_ name: String, isSelfReport: Bool) -> Bool {
        if isLeaving { return has(asked: name) && !isSpecified(name, isSelfReport: isSelfReport) }
        return isSpecified(name, isSelfReport: isSelfReport) || has(asked: name)
            || (!isSelfReport && has(asked: EventName.everything.text))
    }

    /// The caller holds the router's lock.
    private func has(asked name: String) -> Bool { interest.present?.asked.contains(EventName(name)) == true }

    /// The names that the peer's specification subscribes to; their events are kept while the peer is down.
    var specified: Set<EventName> { lock.withLock { specifiedNow } }

    func specify(_ names: Set<EventName>) {
        lock.withLock { specifiedNow = names }
    }
}
