import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks
import Synchronization

/// Room in the outbox, quiet on the link, and the callers that wait for either.
extension Link {
    // MARK: - Room

    /// Whether publishers of events of this name go on without a wait: there is room, waiting is useless, or their
    /// policy says so.
    package func hasRoom(for name: String) -> Bool {
        limits.overflow.policy(of: name) != .wait || lock.withLock { isBeyondWaiting || hasRoomNow }
    }

    /// Whether it is useless to wait for room: no event is accepted, or none leaves any more.
    ///
    /// With the lock held.
    private var isBeyondWaiting: Bool { ending.hasEnded || closed != nil }

    /// Whether there is room: the outbox is below its limit, no other publisher waits, and the peer has no backlog.
    ///
    /// With the lock held.
    @inline(__always)
    var hasRoomNow: Bool { !waiters.areSendersWaiting && hasRoomInTurn }

    /// Whether there is room for a publisher whose turn has come; room that others have reserved is none.
    ///
    /// With the lock held.
    @inline(__always)
    var hasRoomInTurn: Bool { sending.keptBytes + sending.reservedBytes < limits.outboxBytes && !isBackedUp }

    /// Whether a publisher whose turn has come finds room: others may have had their turn at the same moment.
    package var hasRoomStill: Bool { lock.withLock { hasRoomInTurn } }

    /// Whether a publisher has to wait, for room or for its turn.
    ///
    /// The caller has found that the link takes events: on a closed link it would be useless to wait.
    ///
    /// With the lock held.
    @inline(__always)
    func mustWait(_ ifFull: FullOutboxAction) -> Bool {
        switch ifFull {
        case .drop, .fail: false
        case .wait: !ending.hasEnded && !hasRoomNow
        case .turn: !ending.hasEnded && !hasRoomInTurn
        }
    }

    /// How many bytes the outbox holds, as counted against the limit, and how many unsettled events.
    ///
    /// Gaps in the outbox, and handled events that stay until those before them are handled, count among the bytes
    /// only.
    package var outboxDepth: (bytes: Int, events: Int) { lock.withLock { (sending.keptBytes, unsettledEvents) } }

    /// Whether publishers have to wait, for the outbox or for the peer; and how many events are not settled.
    package var load: (isFull: Bool, events: Int) {
        lock.withLock { (sending.keptBytes >= limits.outboxBytes || isBackedUp, unsettledEvents) }
    }

    /// With the lock held.
    private var unsettledEvents: Int { Int(clamping: sending.waitingEvents) }

    /// Whether the peer has acknowledged everything, and everything that came from it is handled.
    package var isQuiet: Bool { lock.withLock { isQuietNow } }

    /// Whether a payload of so many bytes does not fit below the hard limit, and the link is paused, so that no event
    /// leaves to make room.
    package func isStuck(for bytes: Int) -> Bool {
        lock.withLock { sending.gate.isPaused && isQuietNow && sending.keptBytes > limits.outboxHardBytes - bytes }
    }

    /// How many events the outbox has taken and how many have arrived so far, as one sum: two equal readings mean that
    /// no event came between them.
    package var activity: UInt64 {
        lock.withLock { activityNow }
    }

    /// With the lock held.
    var activityNow: UInt64 { sending.outbox.lastSequence &+ receiving.lastArrived }

    /// With the lock held.
    var isQuietNow: Bool {
        sending.isSettled && receiving.unhandledEvents == 0 && (!ending.isReadToEnd || ending.hasEnded)
            // `hasExpected` is false while events that the peer's handlers published are still on their way.
            && receiving.hasExpected
            // Events that the peer has accepted and not written are on their way too, as far as its memory shows.
            && (ending.hasEnded || peerMemory.acceptedNow.map { $0 <= receiving.lastArrived } ?? true)
    }

    // MARK: - Waiting for room

    /// Returns when it is the caller's turn and there is room, or waiting is useless; throws if the task is cancelled.
    ///
    /// Turns are given in the order of waiting, so that a caller that has waited takes the room before a caller that
    /// comes just then. Several callers may have their turn at once: then each says so with ``FullOutboxAction/turn``,
    /// and waits again if the others have filled the room.
    ///
    /// - Parameter isWaiting: called if there is no room, once the caller waits; by then room may have come.
    package func waitForRoom(_ isWaiting: () -> Void = {}) async throws {
        let id = Randomness.next()
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isReady = lock.withLock {
                    if isBeyondWaiting || hasRoomNow || Task.isCancelled { return true }
                    waiters.waitForRoom(id) { continuation.resume() }
                    return false
                }
                if isReady { continuation.resume() } else { isWaiting() }
            }
        } onCancel: {
            Simulation.undivided {
                let wake = lock.withLock { waiters.cancelWait(for: id) }
                wake?()
            }
        }
        try Task.checkCancellation()
    }

    /// Whether so much waits for the peer's handlers that other processes have to keep their events for the peer.
    package var isCrowded: Bool { lock.withLock { !ending.hasEnded && sending.isCrowded } }

    /// Calls `body` once, when the link is no longer crowded or has ended.
    ///
    /// - Returns: False, without a call of `body`, if there is nothing to wait for.
    package func whenRoom(_ body: @escaping @Sendable () -> Void) -> Bool {
        lock.withLock {
            guard !ending.hasEnded, sending.isCrowded else { return false }
            waiters.waitWhileCrowded(body)
            return true
        }
    }

    /// Whether what the peer has published piles up in the peer's own outbox.
    package var hasBacklog: Bool { lock.withLock { !ending.hasEnded && isBackedUp } }

    /// Calls `body` once, when the peer's own events no longer pile up in its outbox, or the link has ended.
    ///
    /// - Returns: False, without a call of `body`, if there is nothing to wait for.
    package func whenNotBackedUp(_ body: @escaping @Sendable () -> Void) -> Bool {
        lock.withLock {
            guard !ending.hasEnded, isBackedUp else { return false }
            waiters.waitWhileBackedUp(body)
            return true
        }
    }

    /// Whether events that dead workers left for the peer have to wait, because so much is kept for it already.
    ///
    /// The bound is the hard limit, and twice that while no peer is there to make room. A paused link is never
    /// overfull: its pause may last until a person makes room for dead letters.
    package var isOverfull: Bool {
        lock.withLock {
            let isUp = parties.peer != nil && !ending.hasEnded
            return !sending.gate.isPaused && sending.keptBytes >= limits.outboxHardBytes * (isUp ? 1 : 2)
        }
    }

    /// Calls `body` when the peer has acknowledged everything and everything that came from it is handled, or the link
    /// has ended.
    package func whenQuiet(_ body: @escaping @Sendable () -> Void) {
        let isReady = lock.withLock {
            if ending.hasEnded || isQuietNow { return true }
            waiters.waitForQuiet(body)
            receiving.acknowledgementIsDue()
            // If the reading thread is just done with its events, and misses the flag, the timer acts 2 ms later.
            strand.mustSettle.store(true, ordering: .relaxed)
            return false
        }
        if isReady { body() } else { pump() }
    }

    /// Calls `body` when all that has arrived is handled, and what this side has published is settled.
    ///
    /// With a shared outbox, which outlives this process, events published after this call do not count: threads that
    /// go on publishing do not keep a worker from ending.
    package func whenDrained(_ body: @escaping @Sendable () -> Void) {
        lock.withLock { if sharedHead != nil { sending.drain() } }
        whenQuiet(body)
    }

    // MARK: - Demand

    /// Calls `body` once, when the outbox holds something that may leave, or the link has ended; at once if either is
    /// true already.
    ///
    /// For a link without a stream: its peer is down. A later call replaces `body`, and the link's start forgets it.
    package func whenDemanded(_ body: @escaping @Sendable () -> Void) {
        let isDemanded = lock.withLock {
            if ending.hasEnded || isDemandedNow { return true }
            waiters.waitForDemand(body)
            return false
        }
        if isDemanded { body() }
    }

    /// With the lock held.
    private var isDemandedNow: Bool { !sending.isEmpty && !sending.gate.isPaused }

    /// Starts the peer if its start waits for an event that may leave, and the outbox now holds one.
    func demandArose() {
        let waiter = lock.withLock { isDemandedNow ? waiters.takeDemand() : nil }
        waiter?()
    }

    // MARK: - Waking

    /// Wakes every caller that waits here, even if what it waits for has not come, so that it checks again.
    package func wakeWaiters() {
        let woken = lock.withLock { waiters.takeAll() }
        for body in woken { body() }
    }

    /// Wakes the publishers that wait for room here, so that they check again.
    package func wakeSenders() {
        let woken = lock.withLock { waiters.takeSenders() }
        for body in woken { body() }
    }

    /// Wakes the callers for which there is room: one that was woken before them may have gone elsewhere.
    package func passTurnOn() {
        let woken = lock.withLock { takeWoken() }
        for body in woken { body() }
    }

    /// The waiters whose wait is over; the caller calls them after unlocking.
    ///
    /// With the lock held.
    func takeWoken() -> [LinkWaiters.Wake] {
        if waiters.isEmpty { return [] }
        let standing = LinkWaiters.Standing(
            hasEnded: ending.hasEnded,
            isCrowded: sending.isCrowded,
            isBackedUp: isBackedUp,
            isQuiet: isQuietNow,
            keptBytes: sending.keptBytes,
            keptEvents: sending.keptEvents,
            outboxBytes: limits.outboxBytes
        )
        return waiters.takeWoken(standing)
    }
}
