package import BridgePlatform
package import BridgeProtocol
package import BridgeTransport
package import DomainEvents
import Locks

/// The way to one peer, whichever incarnation of it lives: what it wants, and the link of its present or next incarnation.
package final class Route: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, but for `announced` and the wishes, which the router's lock guards.

    package let peerName: String
    private let role: LinkPhaseMachine.Role
    private let ownSource: EventSource
    package let limits: LinkLimits
    private let poller: Poller
    /// Whether a link that has ended is followed by another.
    private let isRenewed: Bool

    private let lock = Lock()
    private var current: Link
    private var closedBecause: String?

    /// What the peer subscribes to by its specification: kept for it while it is down.
    ///
    /// Guarded by the router's lock.
    let specified: Set<String>
    /// What the present incarnation has asked for.
    ///
    /// Guarded by the router's lock.
    var asked: Set<String> = []
    /// Which of our numbers the present link's peer knows as wanted.
    ///
    /// Guarded by the router's lock.
    var announced: Set<UInt64> = []

    /// The link over which ``announced`` was said.
    ///
    /// Guarded by the router's lock.
    var announcedLink: Link?

    package init(
        peerName: String,
        role: LinkPhaseMachine.Role,
        ownSource: EventSource,
        limits: LinkLimits,
        specified: Set<String> = [],
        isRenewed: Bool,
        poller: Poller,
        first: Link? = nil
    ) {
        self.peerName = peerName
        self.role = role
        self.ownSource = ownSource
        self.limits = limits
        self.specified = specified
        self.isRenewed = isRenewed
        self.poller = poller
        current =
            first ?? Link(peerName: peerName, role: role, ownSource: ownSource, limits: limits, poller: poller)
    }

    /// The link of the present incarnation, or of the next while the peer is down.
    package var link: Link { lock.withLock { current } }

    /// Puts a fresh link in the place of one that has ended, with all that it had not delivered.
    ///
    /// Any number of callers.
    package func renew(after ended: Link) {
        guard isRenewed else { return }
        lock.withLock {
            guard current === ended else { return }
            let next = Link(peerName: peerName, role: role, ownSource: ownSource, limits: limits, poller: poller)
            ended.moveUnsettled(to: next)
            current = next
        }
    }

    /// Says why nothing is taken for the peer any more: it was given up or has stopped for good.
    ///
    /// What lies in the outbox is kept.
    package func close(because reason: String) {
        let link = lock.withLock {
            closedBecause = reason
            return current
        }
        link.wakeWaiters()
    }

    /// Takes events for the peer again.
    package func reopen() {
        lock.withLock { closedBecause = nil }
    }

    package var closedReason: String? { lock.withLock { closedBecause } }

    /// Where an event was put.
    struct Place {
        let link: Link
        let sequence: UInt64
    }

    /// Puts an event into the outbox; if held, it stays there until the link releases it.
    func enqueue(
        _ context: EventContext,
        name: String,
        isHeld: Bool,
        payload: UnsafeRawBufferPointer
    ) throws(DeliveryError) -> Place {
        while true {
            let (link, closed) = lock.withLock { (current, closedBecause) }
            if let closed {
                throw DeliveryError(.workerUnavailable, "worker \"\(peerName)\" does not take \(name): \(closed)")
            }
            switch link.enqueue(context, name: name, isHeld: isHeld, payload: payload) {
            case .accepted(let sequence): return Place(link: link, sequence: sequence)
            case .ended:
                guard isRenewed else {
                    throw DeliveryError(.workerUnavailable, "\(name) was not sent: the link to \(peerName) has ended")
                }
                renew(after: link)
            case .full(let limit):
                throw DeliveryError(
                    .outboxFull,
                    "\(name) was not taken: the outbox to \(peerName) is at its hard limit of \(limit) bytes"
                )
            case .tooLarge(let size, let limit):
                throw DeliveryError(
                    .eventTooLarge,
                    "\(name) was not taken: its payload has \(size) bytes, \(peerName) takes \(limit)"
                )
            }
        }
    }

    var hasRoom: Bool {
        let (link, closed) = lock.withLock { (current, closedBecause) }
        return closed != nil || link.hasRoom
    }

    func waitForRoom() async throws {
        while !hasRoom {
            let link = self.link
            try await link.waitForRoom()
            if link.hasEnded { renew(after: link) }
        }
        if let closed = closedReason {
            throw DeliveryError(.workerUnavailable, "worker \"\(peerName)\" is unavailable: \(closed)")
        }
    }

    /// Whether the peer wants the events of this name.
    ///
    /// Under the router's lock.
    func wants(_ name: String, isSelfReport: Bool) -> Bool {
        specified.contains(name) || asked.contains(name)
            || (!isSelfReport && (asked.contains(EventRouter.everything) || specified.contains(EventRouter.everything)))
    }
}
