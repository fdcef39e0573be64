package import DomainEvents

/// Events on their way out: what leaves with a batch, and what the peer answers.
extension SendState {
    // MARK: - Whether events leave

    /// The peer has said what it wants: events leave from now on, unless one is larger than the peer takes.
    ///
    /// Such an event was taken before the peer said how large its frames may be. It is neither left out nor overtaken,
    /// so no event leaves over this link.
    ///
    /// - Returns: Why no event leaves, naming the event that is too large; nil if events leave.
    package mutating func peerIsReady() -> String? {
        // No event is larger than this side's own limit.
        if maximumFrame < limits.frameBytes, let found = firstOversized {
            oversized = found.id
            return """
                it takes frames of at most \(maximumFrame) bytes, and \(found.name) (\(found.id)), which waits for it, \
                is larger
                """
        }
        gate.peerIsReady()
        return nil
    }

    /// The oldest event that is larger than the peer takes; nil for none.
    private var firstOversized: (id: EventID, name: String)? {
        var found: (id: EventID, name: String)?
        outbox.forEachUnsettled { record in
            guard found == nil, record.frame.count - FrameDecoder.headBytes > maximumFrame else { return }
            if let event = event(of: record) { found = (event.context.id, event.name) }
        }
        // The frame of an event in the queue is not written yet.
        queue.forEachEvent { event in
            if found == nil, sizeProblem(of: event.payload.count) != nil { found = (event.context.id, event.name) }
        }
        return found
    }

    /// Keeps events from leaving, or lets them leave again.
    package mutating func setPaused(_ isPaused: Bool) { gate.setPaused(isPaused) }

    /// Lets no event leave any more: the peer finishes what it has.
    package mutating func keep() { gate.keep() }

    /// Lets events leave again: the peer, which was to finish, stays.
    package mutating func letEventsLeave() { gate.letLeave() }

    /// Lets a held event, and the events behind it, leave.
    package mutating func release(_ sequence: UInt64) {
        gate.release(sequence)
        queue.release(sequence)
    }

    /// Whether the window lets an event out, or the queue's first entry may go into the outbox.
    package var hasWritable: Bool { outbox.hasWritable || hasPromotable }

    // MARK: - Leaving

    /// Adds to a batch what may leave now.
    ///
    /// - Parameters:
    ///   - bytes: about how many bytes leave, but at least one frame.
    ///   - now: returns the time on the monotonic clock, in nanoseconds; called only if an event is to be timed.
    package mutating func leave(in batch: inout WriteBatch, atMost bytes: Int, at now: () -> UInt64) {
        guard gate.isOpen else { return }
        if !queue.isEmpty { promote(atMost: bytes) }
        let before = outbox.lastComposed
        if before == outbox.lastSequence { return }
        outbox.compose(into: &batch.pieces, maximumBytes: bytes, through: gate.last)
        guard outbox.lastComposed > before else { return }
        if settling.isIdle, isHost, !unconfirmed.isEverything, !outbox.isGap(before &+ 1) {
            settling.began(before &+ 1, at: now())
        }
    }

    /// A batch has been written.
    ///
    /// - Returns: An acknowledgement of what was written, for a peer that acknowledges nothing; nil for any other peer.
    package mutating func batchWasWritten() -> CheckedAcknowledgement? {
        outbox.composedWasWritten()
        return settleUnconfirmed()
    }

    /// What lies in the outbox and before it, as far as it matters to the goodbye.
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

    /// Whether the entry at the front of the queue may go into the outbox.
    private func mayLeave(_ entry: OverflowQueue.Entry) -> Bool {
        switch entry {
        case .gap: mayGapLeave
        case .event(let event): outbox.hasWindow(for: event.charge)
        }
    }

    /// Whether the gap at the front may go into the outbox; right after another gap, only if an event follows.
    ///
    /// Gaps merge in the queue; they do not merge in the outbox. If only gaps had room, each drop would put one more
    /// gap into the outbox.
    private var mayGapLeave: Bool {
        if outbox.endsWithGap { return queue.mayLeaveThroughFirstEvent { outbox.hasWindow(for: $0) } }
        // On a link on which every policy is `wait`, the outbox also holds what the window does not let out.
        return limits.overflow.isPlain || outbox.hasWindow(for: LinkLimits.minimumCharge)
    }

    /// Moves into the outbox what the window lets out, about as many bytes as one write takes.
    private mutating func promote(atMost bytes: Int) {
        var moved = 0
        while moved < bytes, let entry = queue.first, mayLeave(entry) {
            guard promoteFirst(entry) else { return }
            if case .event(let event) = entry { moved += event.charge } else { moved += LinkLimits.minimumCharge }
        }
    }

    /// Moves the queue's first entry into the outbox; false if the outbox does not take it.
    private mutating func promoteFirst(_ entry: OverflowQueue.Entry) -> Bool {
        let isMoved =
            switch entry {
            case .gap(let gap): append(gap)
            case .event(let event): append(event)
            }
        if isMoved { queue.removeFirst() }
        return isMoved
    }

    /// Moves what waits into the outbox, up to this event, because only an event in the outbox can get a strike.
    ///
    /// Moves nothing if the event does not wait.
    mutating func promote(through id: EventID) {
        var waits = false
        queue.forEachEvent { if $0.context.id == id { waits = true } }
        while waits, let entry = queue.first, promoteFirst(entry) {
            if case .event(let event) = entry { waits = event.context.id != id }
        }
    }

    /// Moves all gaps into the outbox, ahead of an event that goes there at once.
    mutating func promoteGaps() {
        while let entry = queue.first, case .gap = entry, promoteFirst(entry) {}
    }

    // MARK: - What the peer says

    /// The peer has handled events, which gives their window credit back.
    ///
    /// - Parameter now: the time on the monotonic clock, in nanoseconds.
    /// - Returns: The checked acknowledgement, for ``settle(_:)``.
    /// - Throws: A violation if the peer names an event that was never handed out, or ranges that overlap or descend,
    ///   or if it said that it acknowledges nothing.
    package mutating func credit(
        _ acknowledgement: Acknowledgement,
        at now: UInt64
    ) throws(LinkViolation) -> CheckedAcknowledgement {
        try checkMaySettle()
        let checked = try outbox.credit(acknowledgement)
        settling.acknowledged(checked, at: now)
        return checked
    }

    /// Settles the events of an acknowledgement, which counts now.
    package mutating func settle(_ acknowledgement: CheckedAcknowledgement) { _ = outbox.settle(acknowledgement) }

    /// Takes out settled events of one source: those of which the journal may hear once it has recorded the peer's
    /// events up to `sequence`; see ``Outbox/takeUntold(recordedThrough:into:)``.
    package mutating func takeUntold(
        recordedThrough sequence: UInt64,
        into numbers: inout [ClosedRange<UInt64>]
    ) -> EventSource? {
        outbox.takeUntold(recordedThrough: sequence, into: &numbers)
    }

    /// The peer refuses an event, which settles it; the caller then has to call ``refusalWasTold(settled:)``.
    ///
    /// - Returns: The event; nil if it is settled already.
    package mutating func refuse(
        _ refused: UntrustedNumber,
        at now: UInt64
    ) throws(LinkViolation) -> Outbox.Refused? {
        try checkMaySettle()
        guard let found = try outbox.refuse(refused) else { return nil }
        replays.remove(found.sequence)
        settling.refused(found.sequence, at: now)
        return found
    }

    /// What becomes of a refused event is decided, and its frame is not needed any more.
    ///
    /// - Parameter event: the event, if a journal has to hear that it is settled; otherwise nil.
    package mutating func refusalWasTold(settled event: EventID?) { outbox.refusalWasTold(settled: event) }

    /// Throws a violation if the peer said in its handshake that it acknowledges nothing: it then may settle nothing.
    private func checkMaySettle() throws(LinkViolation) {
        guard unconfirmed.isEverything else { return }
        throw LinkViolation("it settles an event, but said in its handshake that it acknowledges nothing")
    }

    /// Throws a violation if too many bytes of handled events wait for events that the peer does not send.
    ///
    /// A peer without shared memory may acknowledge events before it sends what their handlers published, but it may
    /// not put off the sending for ever.
    ///
    /// Handled events of a batch that is still being written cannot be freed yet. That is no fault of the peer: up to
    /// a window of such events is allowed on top. So is the largest event, which alone may be above the limit.
    ///
    /// - Parameter expected: the event of the peer that must arrive before its last acknowledgement counts.
    package func checkOwed(behind expected: UntrustedNumber) throws(LinkViolation) {
        let owed = outbox.creditedBytes
        let isWritten = outbox.lastComposed == outbox.lastWritten
        let limit = 2 * limits.outboxHardBytes + (isWritten ? 0 : limits.windowBytes)
        guard isHost, owed > limit, owed - outbox.largestCredited > limit else { return }
        throw LinkViolation(
            """
            it has handled \(owed) bytes of events, but acknowledges them only after event \
            \(expected) of its own, which does not come; the limit is \(limit) bytes
            """
        )
    }

    /// The peer has sent a receipt for an event; returns whether the receipt counts: the event went to this peer with
    /// the wish for one, and this is the first.
    ///
    /// Called only in the host.
    package mutating func receiptCame(of id: EventID) -> Bool { receipts.receiptCame(of: id) }

    // MARK: - A peer that acknowledges nothing

    /// Settles all that was handed out for writing: the peer does not say what arrives, nor what becomes of it.
    ///
    /// - Returns: An acknowledgement of these events; nil for any peer that acknowledges.
    package mutating func settleUnconfirmed() -> CheckedAcknowledgement? {
        guard unconfirmed.isEverything else { return nil }
        var awaited: [EventID] = []
        outbox.forEachUnsettled(through: outbox.lastComposed) { record in
            if isAwaited(record) { awaited.append(EventID(source: record.source, number: record.number)) }
        }
        let all = outbox.creditAll()
        unconfirmed.awaited += awaited
        unconfirmed.count += UInt64(outbox.settle(all))
        // Replayed events want a receipt, so they are among the awaited events.
        _ = takeSettledReplays()
        return all
    }

    /// Takes out the events that were written and whose publishers wait for a receipt.
    package mutating func takeUnconfirmed() -> [EventID] {
        defer { unconfirmed.awaited = [] }
        return unconfirmed.awaited
    }
}
