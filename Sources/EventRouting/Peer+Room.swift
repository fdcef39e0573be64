import BridgeTransport
import DomainEvents
import Locks

/// How callers wait for room in the peer's outbox, and until the events that the peer publishes get through.
extension Peer {
    /// Whether publishers of events of this name need not wait for the peer: it has room, or takes no such events.
    func hasRoom(for name: String) -> Bool {
        let (link, takesNone) = lock.withLock { (current, closure != nil || hasLeftNow(name)) }
        return takesNone || link.hasRoom(for: name)
    }

    func waitForRoom(for name: String) async throws {
        while !hasRoom(for: name) {
            let link = self.link
            try await link.waitForRoom { waitBegan(for: name, on: link) }
            // The caller's turn has come. If callers that were woken with it have filled the room since, it waits
            // again, before it encodes its event in vain.
            if link.hasEnded { renew(after: link) } else if link.hasRoomStill { break }
        }
        // If events of this name go to other peers now, publishing the event finds those peers.
        if let closed = lock.withLock({ hasLeftNow(name) ? nil : closure?.reason }) {
            throw DeliveryError(
                .workerUnavailable,
                of: name,
                at: peerName,
                "\(name) was not taken: \(sentenceName) is unavailable: \(closed)"
            )
        }
    }

    /// Puts a new link in the place of a link that has ended just now: nothing waits for a link that has ended, so the
    /// peer would seem to have room, though its new link may be full.
    private func renewIfEnded() {
        let link = self.link
        if link.hasEnded { renew(after: link) }
    }

    /// Called by a publisher that has begun to wait: if the peer was closed or began to leave just now, nothing else
    /// wakes the publisher.
    func waitBegan(for name: String, on link: Link) {
        if closedReason != nil { link.wakeWaiters() } else if hasLeft(name) { link.wakeSenders() }
    }

    /// Returns when one of these peers has room; a peer that takes no events counts once it takes events again.
    ///
    /// If none of them takes events, the call does not wait.
    ///
    /// - Throws: `CancellationError`, or why none of the peers takes events any more.
    static func waitForRoom(for name: String, atOneOf peers: [Peer]) async throws {
        guard peers.count > 1 else {
            for peer in peers { try await peer.waitForRoom(for: name) }
            return
        }
        let closed = peers.filter { $0.closedReason != nil }
        // If all are closed, this throws the reason of the first.
        if closed.count == peers.count { return try await peers[0].waitForRoom(for: name) }
        let open = peers.filter { peer in !closed.contains { $0 === peer } }
        for peer in open { peer.renewIfEnded() }
        if open.contains(where: { $0.hasRoom(for: name) }) { return }
        // Several peers may have made room at once, each with a turn for this caller, which uses one of them.
        defer { for peer in peers { peer.link.passTurnOn() } }
        try await withThrowingTaskGroup(of: WaitOutcome.self) { group in
            for peer in open { group.addTask { await peer.outcomeOfWait(for: name) } }
            for peer in closed { group.addTask { await peer.reopening() } }
            defer { group.cancelAll() }
            while let outcome = try await group.next() {
                switch outcome {
                case .hasRoom: return
                case .closed(let peer, let failure):
                    try Task.checkCancellation()
                    // The others may still make room, even one that was reopened just now and has not said so yet.
                    if peers.allSatisfy({ $0.closedReason != nil }) { throw failure }
                    group.addTask { await peer.reopening() }
                case .reopened(let peer):
                    try Task.checkCancellation()
                    group.addTask { await peer.outcomeOfWait(for: name) }
                }
            }
        }
    }

    /// How a wait for one of several peers ends.
    private enum WaitOutcome: Sendable {
        case hasRoom
        case closed(Peer, any Error)
        case reopened(Peer)
    }

    private func outcomeOfWait(for name: String) async -> WaitOutcome {
        do {
            try await waitForRoom(for: name)
            return .hasRoom
        } catch {
            return .closed(self, error)
        }
    }

    /// Returns when the peer takes events again, or the task is cancelled.
    private func reopening() async -> WaitOutcome {
        let id = Randomness.next()
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = lock.withLock {
                    if closure == nil || Task.isCancelled { return true }
                    closure?.waiting.append((id, { continuation.resume() }))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            Simulation.undivided {
                let wake = lock.withLock {
                    closure?.waiting.firstIndex { $0.id == id }.flatMap { closure?.waiting.remove(at: $0).wake }
                }
                wake?()
            }
        }
        return .reopened(self)
    }

    /// Whether the outbox has reached the limit where waiting begins; false if the peer takes no more events.
    var isCrowded: Bool {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        return !isClosed && link.isCrowded
    }

    /// Calls `body` once the outbox is below the limit where waiting begins, or the peer takes no more events.
    func whenRoom(_ body: @escaping @Sendable () -> Void) {
        while true {
            let (link, closed) = lock.withLock { (current, closure?.reason) }
            if closed != nil { return body() }
            let isWaiting = link.whenRoom { [self] in
                if link.hasEnded { whenRoom(body) } else { body() }
            }
            if isWaiting {
                // If the peer was closed just now, nothing else wakes this waiting caller.
                if closedReason != nil { link.wakeWaiters() }
                return
            }
            guard link.hasEnded, isRenewed else { return body() }
            renew(after: link)
        }
    }

    /// Whether the events that the peer published pile up in its own outbox; false if the peer takes no more events.
    var isBackedUp: Bool {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        return !isClosed && link.hasBacklog
    }

    /// Calls `body` once the events that the peer published get through, the peer has ended, or the peer takes no more
    /// events.
    func whenNotBackedUp(_ body: @escaping @Sendable () -> Void) {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        if isClosed || !link.whenNotBackedUp(body) { return body() }
        // If the peer was closed just now, nothing else calls this waiting body.
        if closedReason != nil { link.wakeWaiters() }
    }

    /// Calls `body` once, when the outbox of this peer, which is down, has an event; perhaps during this call.
    package func whenDemanded(_ body: @escaping @Sendable () -> Void) {
        let link = self.link
        link.whenDemanded { [weak self] in
            guard let self else { return }
            guard link.hasEnded, isRenewed else { return body() }
            renew(after: link)
            whenDemanded(body)
        }
    }

    /// Whether the outbox is so full that recoveries for this peer have to wait.
    var isOverfull: Bool {
        let (link, mayWait) = lock.withLock { (current, closure == nil && startsByItself) }
        return mayWait && link.isOverfull
    }

    /// Calls `body` when the outbox is below the limit where waiting begins, or when the peer takes no more events, is
    /// paused, or does not start by itself; in rare cases calls `body` twice.
    ///
    /// - Parameter recovery: stands for the recovery that waits, until ``recoveryGoesOn(_:)``.
    func whenNotOverfull(for recovery: AnyObject, _ body: @escaping @Sendable () -> Void) {
        let mayWait = lock.withLock {
            let mayWait = !isPaused && startsByItself
            if mayWait { recoveriesWaiting.append((ObjectIdentifier(recovery), body)) }
            return mayWait
        }
        if !mayWait { return body() }
        whenRoom(body)
    }

    /// Called when the recovery no longer waits for this peer's room.
    func recoveryGoesOn(_ recovery: AnyObject) {
        lock.withLock { recoveriesWaiting.removeAll { $0.recovery == ObjectIdentifier(recovery) } }
    }

    /// Sets whether the peer starts by itself: it runs, or its next start waits for no other peer.
    ///
    /// If false, the peer may start only after the recovery of another peer's events. A recovery that waited for this
    /// peer's room would then wait for ever.
    package func setStartsByItself(_ startsByItself: Bool) {
        let woken = lock.withLock {
            self.startsByItself = startsByItself
            defer { if !startsByItself { recoveriesWaiting = [] } }
            return startsByItself ? [] : recoveriesWaiting
        }
        for waiting in woken { waiting.body() }
    }
}
