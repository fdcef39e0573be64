package import DomainEvents

/// From one incarnation of the peer to the next: what is sent again, what the peer may have died of, and what is not
/// sent again.
extension SendState {
    /// Moves what the peer has not settled into the state of the next incarnation's link, oldest first.
    ///
    /// - Parameters:
    ///   - next: the state to move to; it holds nothing yet.
    ///   - leftOut: the event that is not moved; nil to move all.
    /// - Returns: The event that was left out; nil if it is not in the outbox, or no event was to be left out.
    package mutating func move(to next: inout SendState, without leftOut: UInt64? = nil) -> UndeliveredEvent? {
        var found: UndeliveredEvent?
        if outbox.untold.isUsed { next.outbox.willOwe() }
        outbox.forEachUnsettled { record in
            // Only a worker's outbox, which has no successor, lies in memory of a fixed size: `next` has room.
            if record.isGap {
                if let gap = gap(of: record) { _ = next.append(gap) }
            } else if let event = event(of: record) {
                if record.sequence == leftOut {
                    found = UndeliveredEvent(event, of: record)
                } else {
                    next.append(event, of: record)
                }
            }
        }
        next.queue = queue
        // The ended link keeps the holds in its gate.
        next.queue.releaseAll()
        if let oversized { next.promote(through: oversized) }
        leaveQueue()
        return found
    }

    private mutating func append(_ event: Written, of record: Outbox.Unsettled) {
        _ = event.context.withBorrowed { context in
            append(
                context,
                name: event.name,
                attempt: UInt64(record.attempts) + 1,
                wantsReceipt: event.wantsReceipt,
                strikes: record.strikes,
                payload: event.payload
            )
        }
        if record.isOwed { outbox.lastIsOwed() }
    }

    /// Events that the peer has had may come again; see ``Outbox/willOwe()``.
    package mutating func willOwe() { outbox.willOwe() }

    /// An event that the peer has refused may come again until ``refusalIsDecided()``.
    ///
    /// If the events move to another state in the meantime, that state never tells its peer what it may forget.
    package mutating func refusalIsHeld() { outbox.refusalIsHeld() }

    package mutating func refusalIsDecided() { outbox.refusalIsDecided() }

    /// Takes an event that an earlier host left behind; only before the peer's first process has come.
    ///
    /// The event goes behind all that was restored before it.
    ///
    /// - Parameter strikes: the reasons of the event's strikes; empty for none.
    package mutating func restore(
        _ context: EventContext,
        name: String,
        number: UInt64,
        attempt: Int,
        strikes: [String],
        payload: UnsafeRawBufferPointer
    ) {
        outbox.willOwe()
        // Only a worker's outbox lies in memory of a fixed size; a host's always has room.
        _ = context.withBorrowed { context in
            append(
                context,
                name: name,
                number: number,
                attempt: UInt64(clamping: attempt),
                strikes: strikes.isEmpty ? nil : strikes,
                payload: payload
            )
        }
        outbox.lastIsOwed()
        acceptedEvents += 1
    }

    /// Returns every unsettled event, oldest first, and empties the queue: no other link takes this link's place.
    ///
    /// Gaps are left out.
    package mutating func takeAll() -> [UndeliveredEvent] {
        var left: [UndeliveredEvent] = []
        outbox.forEachUnsettled { record in
            if let event = event(of: record) { left.append(UndeliveredEvent(event, of: record)) }
        }
        queue.forEachEvent { event in
            left.append(
                UndeliveredEvent(
                    name: event.name,
                    context: event.context,
                    attempts: Int(clamping: event.attempt - 1),
                    isOwed: event.isOwed,
                    payload: event.payload
                )
            )
        }
        leaveQueue()
        return left
    }

    /// The entries of the queue have gone elsewhere; the gate keeps their holds.
    private mutating func leaveQueue() {
        gate.hold(contentsOf: queue.held)
        queue = OverflowQueue()
    }

    // MARK: - What is waited for

    /// The events that the peer has not settled and whose publishers wait for its receipt.
    package var awaitedEvents: [EventID] {
        var found: [EventID] = []
        outbox.forEachUnsettled { record in
            if isAwaited(record) { found.append(EventID(source: record.source, number: record.number)) }
        }
        queue.forEachEvent { if $0.wantsReceipt { found.append($0.context.id) } }
        return found
    }

    // MARK: - Suspects

    /// The events that have left for the peer and are not settled; if an event that is too large for the peer keeps all
    /// events from leaving, only that event.
    package var unfinished: [EventID] {
        if let oversized { return [oversized] }
        var left: [EventID] = []
        outbox.forEachUnsettled(through: outbox.lastComposed) { record in
            if !record.isGap { left.append(EventID(source: record.source, number: record.number)) }
        }
        return left
    }

    /// The events of ``unfinished`` that were begun and not finished, as the peer's memory says, oldest first.
    package func suspects(_ state: OutboxState) -> [Suspect] {
        var found: [Suspect] = []
        outbox.forEachUnsettled(through: outbox.lastComposed) { record in
            guard state.isOpen(record.sequence) else { return }
            if let suspect = suspect(record) { found.append(suspect) }
        }
        return found
    }

    /// An event that has left for the peer and is not settled; nil for any other event.
    package func unsettledEvent(_ sequence: UInt64) -> Suspect? {
        guard sequence <= outbox.lastComposed else { return nil }
        return outbox.unsettled(sequence).flatMap { suspect($0) }
    }

    private func suspect(_ record: Outbox.Unsettled) -> Suspect? {
        event(of: record).map { event in
            Suspect(id: event.context.id, name: event.name, attempt: Int(record.attempts))
        }
    }

    /// The previous incarnation has crashed with these events open; the events lie in this outbox now.
    ///
    /// Called only before the first event leaves.
    package mutating func receiverCrashed(suspects: [EventID], because reason: String) -> Probation.Finding {
        outbox.receiverCrashed(suspects: suspects, because: reason)
    }

    package func strikes(of sequence: UInt64) -> [String] { outbox.probation.strikes(of: sequence) ?? [] }

    /// The name of an unsettled event in the outbox; nil if no unsettled event has this sequence.
    package func unsettledName(_ sequence: UInt64) -> String? {
        outbox.unsettled(sequence).flatMap { event(of: $0)?.name }
    }
}

extension UndeliveredEvent {
    fileprivate init(_ event: SendState.Written, of record: Outbox.Unsettled) {
        self.init(
            name: event.name,
            context: event.context,
            attempts: Int(record.attempts),
            strikes: record.strikes ?? [],
            isOwed: record.isOwed,
            payload: event.payload
        )
    }
}
