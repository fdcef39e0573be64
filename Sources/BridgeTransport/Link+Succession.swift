import BridgePlatform
package import BridgeProtocol
package import DomainEvents
import Locks

/// From one incarnation of the peer to the next: what is sent again, what the peer may have died of, what it leaves
/// behind.
extension Link {
    /// Moves what the peer has not settled into the outbox of the next incarnation's link, oldest first.
    ///
    /// Call this only after this link has ended, and before an event has been put into the other link.
    package func moveUnsettled(to next: Link) {
        withLocks(of: next) { _ = move(to: next, without: nil) }
    }

    /// Ends a link that was never started, and moves everything, or everything but one event, to the link that takes
    /// its place.
    ///
    /// The caller has to wake the waiters of this link afterwards.
    ///
    /// - Returns: The event that was left out; nil if it is not in the outbox, or no event was to be left out.
    package func retire(movingTo next: Link, without sequence: UInt64? = nil) -> UndeliveredEvent? {
        withLocks(of: next) {
            ending.ended(.closed)
            return move(to: next, without: sequence)
        }
    }

    /// Ends a link that was never started, and takes out every event that lies in it, oldest first: no other link takes
    /// its place.
    ///
    /// The caller has to wake the waiters of this link afterwards. Gaps are left out.
    package func retireForGood() -> [UndeliveredEvent] {
        lock.withLock {
            ending.ended(.closed)
            return sending.takeAll()
        }
    }

    /// With the locks of both links held.
    private func move(to next: Link, without leftOut: UInt64?) -> UndeliveredEvent? {
        defer { if next.trace != nil { next.traceSteps() } }
        return sending.move(to: &next.sending, without: leftOut)
    }

    /// Calls `body` with the locks of this link and the next one, which may be the older of the two.
    private func withLocks<R>(of next: Link, _ body: () -> R) -> R {
        let (first, second) = lock.order < next.lock.order ? (lock, next.lock) : (next.lock, lock)
        return first.withLock { second.withLock(body) }
    }

    /// Whether a journal has to hear of any event, or any event has become a dead letter or may still become one; the
    /// events of this link count, and those of earlier links whose unsettled events it took on.
    package var hasOwed: Bool { lock.withLock { sending.outbox.untold.isUsed } }

    /// Notes that events which the peer has had, over this link or an earlier one, may come again: from now on this
    /// side does not tell the peer which events it may forget.
    package func willOwe() { lock.withLock { sending.willOwe() } }

    /// Notes that an event which the peer has refused may come again, until ``refusalIsDecided()``.
    package func refusalIsHeld() { lock.withLock { sending.refusalIsHeld() } }

    package func refusalIsDecided() { lock.withLock { sending.refusalIsDecided() } }

    /// Takes an event that an earlier host has left; call this only before the link is started.
    ///
    /// - Parameter strikes: the reasons of the event's strikes; empty for none.
    package func restore(
        _ context: EventContext,
        name: String,
        number: UInt64,
        attempt: Int,
        strikes: [String],
        payload: UnsafeRawBufferPointer
    ) {
        lock.withLock {
            sending.restore(
                context,
                name: name,
                number: number,
                attempt: attempt,
                strikes: strikes,
                payload: payload
            )
        }
    }

    /// The unsettled event of this sequence, if a journal has to hear of it; otherwise nil.
    package func owedEvent(_ sequence: UInt64) -> EventID? { lock.withLock { sending.outbox.owedEvent(sequence) } }

    // MARK: - Suspects

    /// Whether the peer has acknowledged any event over this link.
    package var hasAcknowledged: Bool { lock.withLock { sending.outbox.acknowledgedEvents > 0 } }

    /// The events that the peer had begun and not finished when the link ended.
    ///
    /// Without a recovered outbox, these are all events that had left for the peer and are not settled. But if an event
    /// that is larger than the peer takes kept all events from leaving, it is that event alone.
    package var unfinished: [EventID] {
        lock.withLock { peerMemory.found?.suspects.map(\.id) ?? sending.unfinished }
    }

    /// Notes that the previous incarnation has crashed with these events open; the events lie in this outbox now.
    ///
    /// Call this only before the link is started.
    package func predecessorCrashed(suspects: [EventID], because reason: String) -> Probation.Finding {
        lock.withLock { sending.receiverCrashed(suspects: suspects, because: reason) }
    }

    /// The reasons of this event's strikes, one for each incarnation that crashed over it; the event has not left yet.
    package func strikes(of sequence: UInt64) -> [String] { lock.withLock { sending.strikes(of: sequence) } }

    /// The name of an unsettled event; nil if no unsettled event has this sequence.
    package func unsettledName(_ sequence: UInt64) -> String? { lock.withLock { sending.unsettledName(sequence) } }

    // MARK: - What a living peer is doing

    /// Which events the peer's handlers have, by their sequences.
    package struct PeerWork: Sendable, Hashable {
        /// The event whose inline handlers run; nil if none run.
        package let inline: UInt64?
        /// The oldest event that was begun and not finished, wherever its handlers run; nil for none.
        package let oldest: UInt64?
    }

    /// What the peer's head page says of its handlers; nil if the peer shares no memory, or has not begun to use it.
    ///
    /// The page is not checked, and may change while it is copied: rely only on what several readings agree on.
    package var peerWork: PeerWork? {
        guard let memory = lock.withLock({ stream })?.memory, let state = OutboxState(memory) else { return nil }
        let (sent, last) = lock.withLock { (sending.sentSequences, sending.outbox.lastComposed) }
        return PeerWork(
            inline: state.handledNow?.within(0...last),
            oldest: sent.flatMap { state.oldestOpen(in: $0) }
        )
    }

    /// An event that was sent and is not settled; nil for any other event.
    package func unsettledEvent(_ sequence: UInt64) -> Suspect? { lock.withLock { sending.unsettledEvent(sequence) } }

    // MARK: - What a worker leaves behind

    /// No record has fewer bytes than this: a gap without ranges has a length field of four bytes, and a byte each for
    /// array, kind, sequence, name, count, reason and ranges.
    private static let leastEventFrame = 11

    /// Ends the writing: the peer reads no more, and what is queued from now on is for the next incarnation.
    ///
    /// On the reading thread, when the stream was read to its end.
    func stopWriting() {
        lock.withLock { ending.streamWasReadToEnd() }
    }

    /// Recovers what the peer's outbox holds, once the peer's process is gone; recovers nothing if this side closes the
    /// link.
    ///
    /// On the reading thread, when the stream was read to its end.
    func recoverOutbox(from memory: MemoryFile) {
        let isOurs = lock.withLock {
            while ending.awaitsPeersEnd { peerWent.wait() }
            return !ending.isClosedHere
        }
        guard isOurs, let state = OutboxState(memory) else { return }
        var found = RecoveredOutbox()
        var gaps: UInt64 = 0
        found.isTorn = state.isTorn
        let received = lock.withLock { receiving.lastReceived }
        var recovery = OutboxRecovery(memory, state: state, limits: limits)
        do {
            try recovery.forEach(after: received) { sequence, record in
                let disposition = try recover(sequence, record)
                if case .event = record { found.events += 1 } else { gaps += 1 }
                if case .refused(.forbidden, _)? = disposition { found.forbidden += 1 }
            }
        } catch {
            found.damage = String(describing: error)
            // The recovery finds no more records than the peer counted, so the subtraction of `gaps` cannot fail. The
            // count itself may be wrong: below what had come before, or above what the memory has room for.
            let room = UInt64(memory.byteCount / Self.leastEventFrame)
            if let accepted = state.accepted.within(received...(received + room)), accepted > received {
                found.missing = accepted - received - UInt64(found.events) - gaps
            } else {
                found.isMissingKnown = false
            }
        }
        lock.withLock {
            found.suspects = sending.suspects(state)
            peerMemory.wasRecovered(found)
        }
    }

    /// Hands on one recovered record; the window does not matter any more, because no credit can reach the peer.
    ///
    /// - Returns: What became of the event; nil for a gap. The peer is not told: it is gone.
    private func recover(_ sequence: UInt64, _ record: OutboxRecovery.Record) throws -> EventDisposition? {
        let (settled, sink) = try lock.withLock { () throws(LinkViolation) in
            guard parties.peer != nil else { throw LinkViolation("there are events in it from before the handshake") }
            receiving.wasRecovered(sequence)
            return (settlePending(), sinks.events)
        }
        for body in settled { body() }
        switch record {
        case .event(var head, let payload):
            // Only a host replays events.
            head.isReplay = false
            guard let context = parties.received(head) else { return nil }
            return try withUnsafePointer(to: context) { context in
                var run = EventRun(of: head, sequence: sequence, context: context, payload: payload, strand: strand)
                return try sink?.link(self, received: &run)
            }
        case .gap(let gap):
            try sink?.link(self, received: gap)
            return nil
        }
    }

    // MARK: - What never came

    /// What is known of the events that a peer had accepted and that never came.
    package struct Loss: Sendable, Hashable {
        /// How many of the peer's events had come; gaps do not count.
        package let arrived: UInt64
        /// How many events are gone; nil if the number is unknown: then it may be 0.
        package let count: UInt64?
        /// Why events may be gone, in words.
        package let reason: String

        package init(arrived: UInt64, count: UInt64?, reason: String) {
            self.arrived = arrived
            self.count = count
            self.reason = reason
        }
    }

    /// What is lost; nil before the link's end, and nil if this side knows of no loss.
    package var loss: Loss? {
        lock.withLock {
            guard let end = ending.end else { return nil }
            let arrived = receiving.receivedEvents + peerMemory.foundEvents
            if let found = peerMemory.found {
                return found.damage.map { damage in
                    let count = found.isMissingKnown ? found.missing : nil
                    return Loss(arrived: arrived, count: count, reason: "its outbox is damaged: \(damage)")
                }
            }
            // Before the handshake a peer accepts nothing. A lines worker keeps nothing: it has written all that it has
            // published.
            guard parties.peer != nil, !isInLines || end.isViolation, let reason = end.reasonToExpectLoss else {
                return nil
            }
            return Loss(arrived: arrived, count: nil, reason: reason)
        }
    }
}

extension LinkEnd {
    /// Why a peer that left no memory may have kept events that it had not sent; nil if this side expects no loss.
    fileprivate var reasonToExpectLoss: String? {
        switch self {
        case .orderly(let goodbye):
            // A peer says goodbye after its last event, unless it breaks off.
            goodbye.isOrderly ? nil : "it broke off (\(goodbye.text)), and shared no outbox"
        case .endOfStream, .failed: "it ended without a goodbye, and shared no outbox"
        case .violation: "it broke the protocol, and what it had not sent was not read"
        // This side closed the link.
        case .closed: nil
        }
    }
}
