import BridgePlatform
import BridgeProtocol
import DomainEvents
import Locks

/// What a worker leaves behind: events that it had accepted and that never came over the stream.
extension Link {
    /// No event frame is shorter: its length, the array, kind, sequence, identity, time and name, and a byte of payload.
    private static let leastEventFrame = 11

    /// Ends the writing: nobody reads any more, and what is queued now is for the next incarnation.
    ///
    /// On the reading thread, when the stream was read to its end.
    func stopWriting() {
        lock.withLock { ending.streamWasReadToEnd() }
    }

    /// Takes over what the peer's outbox holds, once its process is gone; at once if this side has closed the link.
    ///
    /// On the reading thread, when the stream was read to its end.
    func takeOver(from memory: MemoryFile) {
        let isOurs = lock.withLock {
            while ending.awaitsPeersEnd { peerWent.wait() }
            return !ending.isClosedHere
        }
        guard isOurs, let state = OutboxState(memory) else { return }
        var found = TakeOver()
        var gaps: UInt64 = 0
        found.isTorn = state.isTorn
        let received = lock.withLock { receiving.lastReceived }
        var remainder = OutboxRemainder(memory, state: state, limits: limits)
        do {
            try remainder.forEach(after: received) { sequence, record in
                let disposition = try takeOver(sequence, record)
                if case .event = record { found.events += 1 } else { gaps += 1 }
                if case .refused(.forbidden, _)? = disposition { found.forbidden += 1 }
            }
        } catch {
            found.damage = String(describing: error)
            // What was found is never more than was counted; what was counted may be less than had come before, or more than there is room for.
            let room = UInt64(memory.byteCount / Self.leastEventFrame)
            if let accepted = state.accepted.within(received...(received + room)), accepted > received {
                found.missing = accepted - received - UInt64(found.events) - gaps
            } else {
                found.isMissingKnown = false
            }
        }
        found.suspects = suspects(state)
        lock.withLock { self.found = found }
    }

    /// The window does not matter any more: all of this lay in the peer's memory, and no credit can reach it.
    ///
    /// - Returns: What became of it, if it is an event: for a peer that waits to hear of it, and nobody does here.
    private func takeOver(_ sequence: UInt64, _ record: OutboxRemainder.Record) throws -> EventDisposition? {
        let (settled, delegate) = try lock.withLock { () throws(LinkViolation) in
            guard parties.peer != nil else { throw LinkViolation("there are events in it from before the handshake") }
            receiving.tookOver(sequence)
            return (settlePending(), self.delegate)
        }
        for body in settled { body() }
        switch record {
        case .event(let head, let payload): return try delegate?.link(self, received: head, payload: payload)
        case .gap(let gap):
            try delegate?.link(self, received: gap)
            return nil
        }
    }

    // MARK: - Suspects

    private func suspects(_ state: OutboxState) -> [Suspect] {
        lock.withLock {
            var found: [Suspect] = []
            let handledNow = state.handledNow
            outbox.forEachUnsettled { record in
                guard !record.isGap, record.sequence <= outbox.lastComposed, state.isOpen(record.sequence),
                    let suspect = suspect(record, isInline: handledNow.map { $0 == record.sequence } ?? false)
                else { return }
                found.append(suspect)
            }
            return found
        }
    }

    /// With the lock held.
    func suspect(_ record: Outbox.Unsettled, isInline: Bool) -> Suspect? {
        let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
        // Our own frame; it decodes.
        guard let (head, _) = try? EventFrame.decode(body, limits: limits) else { return nil }
        return Suspect(
            id: EventID(source: record.source, number: record.number),
            name: name(of: head.name),
            attempt: Int(record.attempts),
            isInline: isInline
        )
    }
}
