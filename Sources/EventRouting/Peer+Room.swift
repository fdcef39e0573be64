import BridgeTransport
import DomainEvents
import Locks

/// Waits for room in the peer's outbox, and for the events that the peer publishes to get through.
extension Peer {
    func hasRoom(for name: String) -> Bool {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        return isClosed || link.hasRoom(for: name)
    }

    func waitForRoom(for name: String) async throws {
        while !hasRoom(for: name) {
            let link = self.link
            try await link.waitForRoom {
                // If the peer was closed just now, nothing else wakes this waiting caller.
                if self.closedReason != nil { link.wakeWaiters() }
            }
            // The caller's turn has come, though other events may have filled the room since.
            if !link.hasEnded { break }
            renew(after: link)
        }
        // If events of this name go to other peers now, publishing the event finds those peers.
        if let closed = lock.withLock({ hasLeftNow(name) ? nil : closure?.reason }) {
            throw DeliveryError(
                .workerUnavailable,
                of: name,
                at: peerName,
                "\(name) was not taken: worker \"\(peerName)\" is unavailable: \(closed)"
            )
        }
    }

    /// Returns when one of these peers has room; peers that take no events do not count, unless none takes any.
    ///
    /// - Throws: `CancellationError`, or why none of the peers takes events any more.
    static func waitForRoom(for name: String, atOneOf peers: [Peer]) async throws {
        let open = peers.count == 1 ? peers : peers.filter { $0.closedReason == nil }
        guard open.count > 1 else {
            for peer in open.isEmpty ? Array(peers.prefix(1)) : open { try await peer.waitForRoom(for: name) }
            return
        }
        if open.contains(where: { $0.hasRoom(for: name) }) { return }
        // Several peers may have made room at once, each with a turn for this caller, which uses one of them.
        defer { for peer in open { peer.link.passTurnOn() } }
        try await withThrowingTaskGroup { group in
            for peer in open { group.addTask { try await peer.waitForRoom(for: name) } }
            defer { group.cancelAll() }
            var failure: (any Error)?
            while let outcome = await group.nextResult() {
                switch outcome {
                case .success: return
                // The peer was closed meanwhile: the others may still make room.
                case .failure(let error): failure = error
                }
            }
            try Task.checkCancellation()
            if let failure { throw failure }
        }
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

    /// The recovery waits for this peer's room no more.
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
