package import DomainEvents

/// Events on their way in: each goes into the outbox or into the queue before it, or the answer says why not.
extension SendState {
    /// How many bytes a head takes at most: three identifiers and a name of the largest size, and all options.
    static let headAllowance = 2_048

    // MARK: - Taking

    /// Takes an event as its policy says.
    ///
    /// - Parameters:
    ///   - number: this process's number for the name; 0 if it has none.
    ///   - isHeld: whether the event stays until ``release(_:)``. Such an event goes to other peers as well, or a
    ///     journal records it. A byte of it is written only when the outboxes of all these peers and the journal have
    ///     it: otherwise a quick peer could answer before the others have it.
    ///   - isAccepted: whether a worker has accepted the event for this peer: the hard limit then does not keep the
    ///     event out. The windows of the workers that send such events bound their number.
    ///   - isOwed: whether a journal records the event, and has to hear what becomes of it at this peer.
    ///   - isLate: whether the event is taken even after ``takeNoMore(of:)``.
    ///   - reserved: the room that was reserved for the event, in bytes; nil if none was.
    ///   - evicted: receives the events that a policy takes out for this event, or this event itself if it is dropped.
    package mutating func take(
        _ context: EventContext,
        name: String,
        number: UInt64,
        attempt: UInt64,
        isHeld: Bool,
        wantsReceipt: Bool,
        isAccepted: Bool,
        isOwed: Bool = false,
        isLate: Bool = false,
        reserved: Int?,
        payload: UnsafeRawBufferPointer,
        evicted: inout [Evicted]
    ) -> Enqueued {
        if let leftNames, !isLate, leftNames.contains(name) { return .left }
        if let reserved { giveBack(reserved) }
        var taking = Taking()
        if isHeld { taking.insert(.held) }
        if isAccepted { taking.insert(.accepted) }
        if isOwed { taking.insert(.owed) }
        if wantsReceipt { taking.insert(.wantsReceipt) }
        if reserved != nil { taking.insert(.withRoom) }
        if isLate { taking.insert(.late) }
        if limits.overflow.isPlain {
            return context.withBorrowed { context in
                take(context, name: name, number: number, attempt: attempt, as: taking, payload: payload)
            }
        }
        if let problem = problem(with: payload, name: name, taking) { return problem }
        let event = OverflowQueue.Waiting(
            name: name,
            context: context,
            attempt: attempt,
            wantsReceipt: wantsReceipt,
            isOwed: isOwed,
            payload: payload
        )
        acceptedEvents += 1
        return offer(event, isHeld: isHeld, evicted: &evicted)
    }

    /// What is special about an event that is taken at once; one value, because most events have nothing special.
    package struct Taking: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Means the same as `isHeld` in the method above; ``accepted``, ``owed`` and ``late`` mean `isAccepted`,
        /// `isOwed` and `isLate`.
        package static let held = Taking(rawValue: 1)
        package static let accepted = Taking(rawValue: 2)
        package static let owed = Taking(rawValue: 4)
        package static let wantsReceipt = Taking(rawValue: 8)
        /// The caller has found or reserved room for the event, so only the event's size is checked: since then, the
        /// peer may have said how large frames may be.
        package static let withRoom = Taking(rawValue: 16)
        package static let late = Taking(rawValue: 32)
    }

    /// Takes an event at once; only on a link on which every policy is `wait`.
    package mutating func take(
        _ context: BorrowedContext,
        name: String,
        number: UInt64,
        attempt: UInt64 = 1,
        as taking: Taking = Taking(rawValue: 0),
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        if let leftNames, !taking.contains(.late), leftNames.contains(name) { return .left }
        if keptBytes + reservedBytes >= limits.outboxBytes || payload.count > maximumFrame - Self.headAllowance,
            let problem = problem(with: payload, name: name, taking)
        {
            return problem
        }
        if taking.contains(.owed) { outbox.willOwe() }
        // The gaps that wait go first, because they come before the event.
        if !queue.isEmpty { promoteGaps() }
        guard queue.isEmpty,
            append(
                context,
                name: name,
                number: number,
                attempt: attempt,
                wantsReceipt: taking.contains(.wantsReceipt),
                payload: payload
            )
        else { return .full(limit: limits.outboxHardBytes) }
        acceptedEvents += 1
        if taking.contains(.held) { gate.hold(outbox.lastSequence) }
        if taking.contains(.owed) { outbox.lastIsOwed() }
        return .accepted(sequence: outbox.lastSequence, isCrowded: isCrowded)
    }

    /// Whether the method above would take an event now, and nothing waits before the event.
    package func takes(_ payload: UnsafeRawBufferPointer, name: String) -> Bool {
        if let leftNames, leftNames.contains(name) { return false }
        return queue.isEmpty && problem(with: payload, name: name) == nil
    }

    /// Takes a journal's event that is sent again to this peer alone; the caller has found room for it.
    ///
    /// No policy acts on the event: it drops no other event, and no other event drops it. So where the link uses its
    /// queue, the event goes there without its key.
    package mutating func takeReplayed(
        _ context: EventContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        if let leftNames, leftNames.contains(name) { return .left }
        if let problem = sizeProblem(of: payload.count) { return problem }
        let taken = keptBytes + reservedBytes
        guard taken == 0 || taken + payload.count <= limits.outboxHardBytes else {
            return .full(limit: limits.outboxHardBytes)
        }
        let attempt = UInt64(context.attempt)
        guard limits.overflow.isPlain else {
            let event = OverflowQueue.Waiting(
                name: name,
                context: context,
                attempt: attempt,
                wantsReceipt: true,
                payload: payload
            )
            return wait(event)
        }
        return context.withBorrowed { context in
            take(
                context,
                name: name,
                number: number,
                attempt: attempt,
                as: [.wantsReceipt, .withRoom],
                payload: payload
            )
        }
    }

    /// Takes the event of a dead letter, which is offered to this peer again; if there is no room, the letter is kept.
    ///
    /// No policy acts on the event: it drops no other event, and no other event drops it. Its value may be older than
    /// one that waits, so where the link uses its queue, the event goes there without its key.
    ///
    /// - Parameter isOwed: whether a journal records the event, and has to hear what becomes of it at this peer.
    package mutating func takeLetter(
        _ context: EventContext,
        name: String,
        attempt: UInt64,
        isOwed: Bool,
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        if limits.overflow.isPlain {
            var evicted: [Evicted] = []
            return take(
                context,
                name: name,
                number: 0,
                attempt: attempt,
                isHeld: false,
                wantsReceipt: false,
                isAccepted: false,
                isOwed: isOwed,
                reserved: nil,
                payload: payload,
                evicted: &evicted
            )
        }
        if let leftNames, leftNames.contains(name) { return .left }
        if let problem = problem(with: payload, name: name) { return problem }
        let event = OverflowQueue.Waiting(
            name: name,
            context: context,
            attempt: attempt,
            wantsReceipt: false,
            isOwed: isOwed,
            wasLetter: true,
            payload: payload
        )
        switch limits.overflow.policy(of: name) {
        case .wait, .fail: break
        case .dropOldest, .dropNewest, .latest:
            guard hasRoom(for: event) else { return .full(limit: limits.outboxBytes) }
        }
        return wait(event)
    }

    /// Puts an event behind all that waits; no policy acts on the event.
    private mutating func wait(_ event: OverflowQueue.Waiting) -> Enqueued {
        acceptedEvents += 1
        let ticket = queue.append(event)
        note(event.name, .waits(event.context.id))
        return .accepted(sequence: ticket, isCrowded: isCrowded)
    }

    /// Puts a gap where the missing events would have come.
    package mutating func note(_ gap: Gap) { queue.append(gap) }

    // MARK: - Room

    /// Reserves room for an event, so that no other event takes that room.
    ///
    /// - Returns: How many bytes are reserved; the caller passes the number on when the event is taken, or to
    ///   ``giveBack(_:)``.
    package mutating func reserve(for payload: UnsafeRawBufferPointer) -> Int {
        let bytes = LinkLimits.charge(forFrameOf: payload.count + Self.headAllowance)
        reservedBytes += bytes
        return bytes
    }

    /// Gives back reserved room, because the event takes it now or does not come.
    package mutating func giveBack(_ reserved: Int) { reservedBytes -= reserved }

    /// Why an event would not be taken; nil if it would be taken, or dropped by its policy.
    package func problem(
        with payload: UnsafeRawBufferPointer,
        name: String,
        _ taking: Taking = Taking(rawValue: 0)
    ) -> Enqueued? {
        if let problem = sizeProblem(of: payload.count) { return problem }
        if taking.contains(.withRoom) { return nil }
        let limit: Int
        switch limits.overflow.policy(of: name) {
        case .wait:
            // Below the limit where waiting begins one more event always fits, so that a publisher that has waited for
            // room finds it, however large its event is.
            if taking.contains(.accepted) || keptBytes + reservedBytes < limits.outboxBytes { return nil }
            limit = limits.outboxHardBytes
        case .fail: limit = limits.outboxBytes
        // These policies make room, or need none.
        case .dropOldest, .dropNewest, .latest: return nil
        }
        let taken = keptBytes + reservedBytes
        if taken == 0 { return nil }
        // With events of 256 bytes, the records of an outbox take a sixth of what the frames take. The records count
        // towards the hard limit, and not towards the limit where waiting begins.
        let books = keptBytes < limits.outboxBytes ? 0 : outbox.bookkeepingBytes + queue.bookkeepingBytes
        return taken + books + payload.count <= limit ? nil : .full(limit: limit)
    }

    /// Why an event whose payload has this many bytes is too large for the peer; nil if it is not.
    @inline(__always)
    func sizeProblem(of bytes: Int) -> Enqueued? {
        let limit = maximumFrame - Self.headAllowance
        return bytes <= limit ? nil : .tooLarge(size: bytes, limit: limit)
    }

    // MARK: - Policies

    /// Puts an event into the queue as its policy says.
    private mutating func offer(
        _ event: OverflowQueue.Waiting,
        isHeld: Bool,
        evicted: inout [Evicted]
    ) -> Enqueued {
        var key: [UInt8]?
        let policy = limits.overflow.policy(of: event.name)
        switch policy {
        case .wait, .fail: break
        case .dropNewest:
            if !hasRoom(for: event) { return drop(event, &evicted) }
        case .dropOldest:
            if !makeRoom(for: event, &evicted) { return drop(event, &evicted) }
        case .latest(let field):
            key = event.payload.withUnsafeBytes { PayloadField.value(of: field, in: $0) }
            // An event takes the room of the one that it replaces; only a larger one needs more.
            let known = key.flatMap { queue.charge(ofEventNamed: event.name, key: $0) } ?? 0
            let isLarger = event.charge > known
            // An outbox that has only the replaced event is as good as empty, and an empty one takes any event.
            let isAlone = known > 0 && keptEvents == 1
            if isLarger, !isAlone, !canMakeRoom(for: event) { return drop(event, &evicted) }
            if let key, let older = queue.supersede(name: event.name, key: key) {
                coalescedEvents += 1
                steps?.append(.dropped(older.context.id))
                evicted.append(Evicted(older, isCoalesced: true))
            }
            if isLarger, !makeRoom(for: event, &evicted) { return drop(event, &evicted) }
        }
        let ticket = queue.append(event, key: key, isHeld: isHeld)
        note(event.name, .waits(event.context.id))
        // Only the policy `wait` slows publishers down.
        return .accepted(sequence: ticket, isCrowded: isCrowded && policy == .wait)
    }

    /// Whether an event finds room below the limit where waiting begins.
    ///
    /// Handled events do not count against that limit, though they are kept until what lies before them is handled too.
    /// They count against the hard limit only. The gaps that wait, each charged like a small event, count against twice
    /// the hard limit: between two events there may be a gap for each name.
    ///
    /// - Parameter freed: the charged bytes that would be taken out for the event.
    private func hasRoom(for event: OverflowQueue.Waiting, without freed: Int = 0) -> Bool {
        if isEmpty { return true }
        let kept = keptBytes + event.charge
        return outbox.unhandledBytes + queue.chargedBytes - freed + event.charge <= limits.outboxBytes
            && kept - freed <= limits.outboxHardBytes
            // `freed` does not count: an event that is taken out leaves a gap, which is charged like a small event.
            && kept + queue.gapCount * LinkLimits.minimumCharge <= 2 * limits.outboxHardBytes
    }

    /// Whether the event would find room if all older events of the same name were dropped.
    private func canMakeRoom(for event: OverflowQueue.Waiting) -> Bool {
        hasRoom(for: event, without: queue.chargedBytes(of: event.name))
    }

    /// Drops older events of the same name, as many as the event needs; false, with none dropped, if dropping all of
    /// them would not make room.
    private mutating func makeRoom(for event: OverflowQueue.Waiting, _ evicted: inout [Evicted]) -> Bool {
        guard canMakeRoom(for: event) else { return false }
        while !hasRoom(for: event) {
            guard let oldest = queue.dropOldest(of: event.name) else { return false }
            droppedEvents += 1
            steps?.append(.dropped(oldest.context.id))
            evicted.append(Evicted(oldest, isCoalesced: false))
        }
        return true
    }

    private mutating func drop(_ event: OverflowQueue.Waiting, _ evicted: inout [Evicted]) -> Enqueued {
        queue.append(Gap(event.context.id, name: event.name, reason: .policy))
        droppedEvents += 1
        evicted.append(Evicted(event, isCoalesced: false))
        return .dropped
    }
}
