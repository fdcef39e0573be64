package import BridgeProtocol
package import DomainEvents
import Locks

/// From one incarnation of the peer to the next: what is sent again, what it may have died of, and what is not sent again.
extension Link {
    /// Copies what the peer has not acknowledged into the outbox of the next incarnation's link, oldest first.
    ///
    /// Only after this link has ended, and before an event has been put into the other.
    package func moveUnsettled(to next: Link) {
        lock.withLock { _ = move(to: next, without: nil) }
    }

    /// Ends a link that was never attached, and moves everything, or everything but one event, to the one that takes its place.
    ///
    /// Whoever waits for this link has to be woken afterwards.
    ///
    /// - Returns: The event that was left out; nil if it is not in the outbox, or none was to be.
    package func retire(movingTo next: Link, without sequence: UInt64? = nil) -> UndeliveredEvent? {
        lock.withLock {
            ending.ended(.closed)
            return move(to: next, without: sequence)
        }
    }

    /// Ends a link that was never attached, and takes out every event that lies in it, oldest first: no other takes its place.
    ///
    /// Whoever waits for this link has to be woken afterwards. Gaps are left out.
    package func retireForGood() -> [UndeliveredEvent] {
        lock.withLock {
            ending.ended(.closed)
            var left: [UndeliveredEvent] = []
            outbox.forEachUnsettled { record in
                let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
                // Our own frame; it decodes.
                guard !record.isGap, let (head, payloadOffset) = try? EventFrame.decode(body, limits: limits) else {
                    return
                }
                let payload = UnsafeRawBufferPointer(rebasing: body[payloadOffset...])
                left.append(undelivered(record, head, payload: payload))
            }
            queue.forEachEvent { event in
                left.append(
                    UndeliveredEvent(
                        name: event.name,
                        context: event.context,
                        attempts: Int(clamping: event.attempt - 1),
                        payload: event.payload
                    )
                )
            }
            leaveQueue()
            return left
        }
    }

    /// With the lock held.
    private func undelivered(
        _ record: Outbox.Unsettled,
        _ head: EventHead,
        payload: UnsafeRawBufferPointer
    ) -> UndeliveredEvent {
        UndeliveredEvent(
            name: name(of: head.name),
            context: context(of: head, sender: record.source, number: record.number),
            attempts: Int(record.attempts),
            strikes: record.strikes ?? [],
            payload: payload
        )
    }

    /// What waited there has gone elsewhere.
    ///
    /// With the lock held.
    private func leaveQueue() {
        gate.hold(contentsOf: queue.held)
        queue = OverflowQueue()
    }

    /// With the lock held.
    private func move(to next: Link, without leftOut: UInt64?) -> UndeliveredEvent? {
        var found: UndeliveredEvent?
        outbox.forEachUnsettled { record in
            let body = UnsafeRawBufferPointer(rebasing: record.frame[FrameDecoder.headBytes...])
            if record.isGap {
                if let gap = gap(of: body) { next.takeOver(gap) }
                return
            }
            // Our own frame; it decodes.
            guard let (head, payloadOffset) = try? EventFrame.decode(body, limits: limits) else { return }
            let payload = UnsafeRawBufferPointer(rebasing: body[payloadOffset...])
            if record.sequence == leftOut {
                found = undelivered(record, head, payload: payload)
            } else {
                next.takeOver(
                    context(of: head, sender: record.source, number: record.number),
                    name: name(of: head.name),
                    attempt: UInt64(record.attempts) + 1,
                    wantsReceipt: head.wantsReceipt,
                    strikes: record.strikes,
                    payload: payload
                )
            }
        }
        next.adopt(queue)
        leaveQueue()
        return found
    }

    // MARK: - Suspects

    /// Whether the peer has acknowledged any event over this link.
    package var hasAcknowledged: Bool { lock.withLock { outbox.acknowledgedEvents > 0 } }

    /// The events that the peer had begun and not finished when the link ended.
    ///
    /// Of a peer that did not say what it was at: all that had left for it and are not settled.
    package var unfinished: [EventID] {
        lock.withLock {
            if let found { return found.suspects.map(\.id) }
            var left: [EventID] = []
            outbox.forEachUnsettled { record in
                guard !record.isGap, record.sequence <= outbox.lastComposed else { return }
                left.append(EventID(source: record.source, number: record.number))
            }
            return left
        }
    }

    /// The incarnation before this one has crashed with these events open, which lie here now.
    ///
    /// Only before the link is attached.
    package func predecessorCrashed(suspects: [EventID], because reason: String) -> Probation.Finding {
        lock.withLock { outbox.receiverCrashed(suspects: suspects, because: reason) }
    }

    /// Why each incarnation ended that crashed over this event, which has not left the outbox yet.
    package func strikes(of sequence: UInt64) -> [String] {
        lock.withLock { outbox.probation.strikes(of: sequence) ?? [] }
    }

    // MARK: - Pausing

    /// Keeps events from leaving, or lets them leave again; ``pauseChanged()`` then acts on it.
    package func setPaused(_ isPaused: Bool) {
        lock.withLock { gate.setPaused(isPaused) }
    }

    /// Writes what may leave now, and wakes who waits for the link to be quiet.
    package func pauseChanged() {
        let woken = lock.withLock { takeWoken() }
        for body in woken { body() }
        pump()
    }
}
