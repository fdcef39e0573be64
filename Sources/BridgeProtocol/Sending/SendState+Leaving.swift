package import DomainEvents

/// Events on their way out: what leaves with a batch, and what the peer says of it.
extension SendState {
    // MARK: - Whether events leave

    /// Lets events leave from now on: the peer has said what it wants.
    package mutating func peerIsReady() { gate.peerIsReady() }

    /// Keeps events from leaving, or lets them leave again.
    package mutating func setPaused(_ isPaused: Bool) { gate.setPaused(isPaused) }

    /// Lets no event leave any more: the peer is to finish what it has.
    package mutating func keep() { gate.keep() }

    /// Lets a held event, and those behind it, leave.
    package mutating func release(_ sequence: UInt64) {
        gate.release(sequence)
        queue.release(sequence)
    }

    /// Whether the window lets something out, or a gap may be put in.
    package var hasWritable: Bool { outbox.hasWritable || hasPromotable }

    // MARK: - Leaving

    /// Adds to a batch what may leave now.
    ///
    /// - Parameters:
    ///   - bytes: about how much; one frame at least.
    ///   - now: on the monotonic clock, in nanoseconds; asked only where it matters.
    package mutating func leave(in batch: inout WriteBatch, atMost bytes: Int, at now: () -> UInt64) {
        guard gate.isOpen else { return }
        promote(atMost: bytes)
        let before = outbox.lastComposed
        batch.takeEvents(from: &outbox, maximumBytes: bytes, through: gate.last)
        guard outbox.lastComposed > before else { return }
        if settling.isIdle, isHost, !unconfirmed.isEverything, !outbox.isGap(before &+ 1) {
            settling.began(before &+ 1, at: now())
        }
    }

    /// What was to leave with a batch has been written.
    ///
    /// - Returns: What is settled with that, at a peer that acknowledges nothing; nil at any other.
    package mutating func batchWasWritten() -> CheckedAcknowledgement? {
        outbox.composedWasWritten()
        return settleUnconfirmed()
    }

    /// What lies in the outbox, and before it, as the goodbye looks at it.
    ///
    /// - Parameter isShared: whether the peer holds the outbox's memory too.
    package func remainder(isShared: Bool) -> Farewell.Remainder {
        Farewell.Remainder(
            lastComposed: outbox.lastComposed,
            lastSequence: outbox.lastSequence,
            isQueueEmpty: queue.isEmpty,
            isShared: isShared
        )
    }

    // MARK: - From the queue into the outbox

    private var hasPromotable: Bool {
        guard !queue.isEmpty, let first = queue.first else { return false }
        return mayLeave(first)
    }

    /// Whether the entry at the front may go on.
    private func mayLeave(_ entry: OverflowQueue.Entry) -> Bool {
        switch entry {
        case .gap: mayGapLeave
        case .event(let event): outbox.hasWindow(for: event.charge)
        }
    }

    /// Whether the gap at the front may go on: not right behind another one, unless an event follows.
    ///
    /// A gap in the queue grows with what is dropped; a gap in the outbox does not. While nothing but gaps has room,
    /// each drop would put one more gap into the outbox.
    private var mayGapLeave: Bool {
        if outbox.endsWithGap {
            return queue.chargeThroughFirstEvent.map { outbox.hasWindow(for: $0) } ?? false
        }
        // Where nothing is dropped by policy the window does not matter: the outbox holds what the window does not let
        // out.
        return limits.overflow.isPlain || outbox.hasWindow(for: LinkLimits.minimumCharge)
    }

    /// Moves on what the window lets out, about as much as one write takes.
    private mutating func promote(atMost bytes: Int) {
        guard !queue.isEmpty else { return }
        var moved = 0
        while moved < bytes, let entry = queue.first, mayLeave(entry) {
            switch entry {
            case .gap(let gap):
                guard append(gap) else { return }
                moved += LinkLimits.minimumCharge
            case .event(let event):
                guard append(event) else { return }
                moved += event.charge
            }
            queue.removeFirst()
        }
    }

    /// Moves all gaps on ahead of an event that goes into the outbox at once.
    mutating func promoteGaps() {
        while case .gap(let gap) = queue.first, append(gap) { queue.removeFirst() }
    }

    // MARK: - What the peer says

    /// The peer has handled events: it may be sent as many others.
    ///
    /// - Parameter now: on the monotonic clock, in nanoseconds.
    /// - Returns: What it says, for ``settle(_:)``.
    /// - Throws: A violation if the peer speaks of what was never handed out, or has said that it acknowledges nothing.
    package mutating func credit(
        _ acknowledgement: Acknowledgement,
        at now: UInt64
    ) throws(LinkViolation) -> CheckedAcknowledgement {
        try checkMaySettle()
        let checked = try outbox.credit(acknowledgement)
        settling.acknowledged(checked, at: now)
        return checked
    }

    /// Lets go of what a standing acknowledgement settles.
    package mutating func settle(_ acknowledgement: CheckedAcknowledgement) { _ = outbox.settle(acknowledgement) }

    /// The peer refuses an event, which is settled with that.
    ///
    /// - Returns: The event, and its frame, valid until the next change; nil if the event is settled already.
    package mutating func refuse(
        _ refused: UntrustedNumber,
        at now: UInt64
    ) throws(LinkViolation) -> (sequence: UInt64, frame: UnsafeRawBufferPointer)? {
        try checkMaySettle()
        guard let found = try outbox.refuse(refused) else { return nil }
        settling.refused(found.sequence, at: now)
        return found
    }

    /// The refusal of an event has been told elsewhere.
    package mutating func refusalWasTold() { outbox.release() }

    /// A peer that acknowledges nothing has said so in its handshake: what was written for it is settled already.
    private func checkMaySettle() throws(LinkViolation) {
        guard unconfirmed.isEverything else { return }
        throw LinkViolation("it settles an event, but said in its handshake that it acknowledges nothing")
    }

    /// A peer without shared memory may send its own events behind the acknowledgement of those that it has handled,
    /// but may not put that off for ever.
    ///
    /// Handled events of a batch that is still being written cannot be settled yet. That is this side's matter: up to a
    /// window of such events comes on top.
    ///
    /// - Parameter expected: the event of the peer behind which its last acknowledgement stands.
    package func checkOwed(behind expected: UntrustedNumber) throws(LinkViolation) {
        let owed = outbox.creditedBytes
        let isWritten = outbox.lastComposed == outbox.lastWritten
        let limit = 2 * limits.outboxHardBytes + (isWritten ? 0 : limits.windowBytes)
        guard isHost, owed > limit else { return }
        throw LinkViolation(
            """
            it has handled \(owed) bytes of events and acknowledges them only behind event \
            \(expected) of its own, which does not come; the limit is \(limit) bytes
            """
        )
    }

    // MARK: - A peer that acknowledges nothing

    /// Settles all that was handed out for writing: the peer does not say what of it arrives, nor what becomes of it.
    ///
    /// - Returns: What that covers; nil for any peer that acknowledges.
    package mutating func settleUnconfirmed() -> CheckedAcknowledgement? {
        guard unconfirmed.isEverything else { return nil }
        var awaited: [EventID] = []
        outbox.forEachUnsettled(through: outbox.lastComposed) { record in
            if isAwaited(record) { awaited.append(EventID(source: record.source, number: record.number)) }
        }
        let all = outbox.creditAll()
        unconfirmed.awaited += awaited
        unconfirmed.count += UInt64(outbox.settle(all))
        return all
    }

    /// Takes out those events that were written and are waited for.
    package mutating func takeUnconfirmed() -> [EventID] {
        defer { unconfirmed.awaited = [] }
        return unconfirmed.awaited
    }
}
