import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks

/// What a worker leaves behind: events that it had accepted and that never came over the stream.
extension Link {
    /// Ends the writing: nobody reads any more, and what is queued now is for the next incarnation.
    ///
    /// On the reading thread, when the stream was read to its end.
    func stopWriting() {
        lock.withLock { isReadToEnd = true }
    }

    /// Takes over what the peer's outbox holds, once its process is gone; at once if this side has closed the link.
    ///
    /// On the reading thread, when the stream was read to its end.
    func takeOver(from memory: MemoryFile) {
        let isOurs = lock.withLock {
            while !isPeerGone, !isClosedHere { peerWent.wait() }
            return !isClosedHere
        }
        guard isOurs, let state = OutboxState(memory) else { return }
        var found = TakeOver()
        found.isTorn = state.isTorn
        let received = lock.withLock { receiveWindow.lastReceived }
        var remainder = OutboxRemainder(memory, state: state, limits: limits)
        do {
            try remainder.forEachEvent(after: received) { head, payload in
                try takeOver(head, payload)
                found.events += 1
            }
        } catch {
            found.damage = String(describing: error)
            // What was found is never more than was counted; what was counted may be less than had come before.
            if state.accepted > received { found.missing = state.accepted - received - UInt64(found.events) }
        }
        found.suspects = suspects(state)
        lock.withLock { self.found = found }
    }

    /// The window does not matter any more: all of this lay in the peer's memory, and no credit can reach it.
    private func takeOver(_ head: EventHead, _ payload: UnsafeRawBufferPointer) throws {
        let (settled, delegate) = try lock.withLock { () throws(LinkViolation) in
            guard peerSource != nil else { throw LinkViolation("there are events in it from before the handshake") }
            lastTakenOver = head.sequence
            return (settlePending(), self.delegate)
        }
        for body in settled { body() }
        // The disposition is for a peer that waits to hear of it.
        _ = try delegate?.link(self, received: head, payload: payload)
    }

    // MARK: - Suspects

    private func suspects(_ state: OutboxState) -> [Suspect] {
        lock.withLock {
            var found: [Suspect] = []
            let handledNow = state.handledNow
            outbox.forEachUnsettled { record in
                guard record.sequence <= outbox.lastComposed, state.isOpen(record.sequence),
                    let suspect = suspect(record, isInline: record.sequence == handledNow)
                else { return }
                found.append(suspect)
            }
            return found
        }
    }

    /// With the lock held.
    private func suspect(_ record: Outbox.Unsettled, isInline: Bool) -> Suspect? {
        let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
        // Our own frame; it decodes.
        guard let (head, _) = try? EventFrame.decode(body, limits: limits) else { return nil }
        return Suspect(
            id: EventID(source: record.source, number: record.number).description,
            name: name(of: head.name),
            attempt: Int(record.attempts),
            isInline: isInline
        )
    }
}
