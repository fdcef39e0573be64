import BridgePlatform
package import BridgeProtocol
package import DomainEvents
import Locks

/// Events on their way out: each goes into the outbox, or the answer says why not.
extension Link {
    /// Takes no more events of these names: the peer is about to go, and other processes have taken its place.
    ///
    /// A thread may have looked up the peers of an event before this call and enqueue the event after it. That thread
    /// gets the answer `Enqueued.left`, so that its event does not come too late.
    package func leave(_ names: LeftNames) { lock.withLock { sending.takeNoMore(of: names) } }

    /// Puts an event into the outbox; ``flush(at:isGathered:)`` then writes it.
    ///
    /// - Parameters:
    ///   - number: this process's number for the name; 0 if it has none.
    ///   - isHeld: whether the event stays until ``release(_:)``: it goes to other links as well, or a journal records
    ///     it. It must lie in all their outboxes, and be recorded, before a byte of it is written to any: a quick peer
    ///     could answer before the others have it.
    ///   - isAccepted: whether a worker has accepted the event for this peer: the hard limit then does not keep the
    ///     event out. The windows of the sending workers limit the number of such events.
    ///   - isOwed: whether a journal records the event, and has to hear what becomes of it here.
    ///   - isLate: whether the event is taken even if the link takes no more events of its name.
    ///   - reservation: the room that was reserved for the event.
    ///   - evicted: receives the events that a policy takes out for this event, or this event itself if it is dropped.
    package func enqueue(
        _ context: EventContext,
        name: String,
        number: UInt64 = 0,
        attempt: UInt64 = 1,
        isHeld: Bool = false,
        wantsReceipt: Bool = false,
        isAccepted: Bool = false,
        isOwed: Bool = false,
        isLate: Bool = false,
        reservation: Reservation? = nil,
        payload: UnsafeRawBufferPointer,
        evicted: inout [Evicted]
    ) -> Enqueued {
        lock.lock()
        defer { lock.unlock() }
        if let closed { return closed }
        // A reservation made with the previous incarnation's link is of no use.
        let reserved = reservation.flatMap { $0.link === self ? $0.bytes : nil }
        // After this side's goodbye the peer sends no receipt.
        if wantsReceipt, farewell.hasLeft {
            sending.giveBack(reserved ?? 0)
            return .finished
        }
        let outcome = sending.take(
            context,
            name: name,
            number: number,
            attempt: attempt,
            isHeld: isHeld,
            wantsReceipt: wantsReceipt,
            isAccepted: isAccepted,
            isOwed: isOwed,
            isLate: isLate,
            reserved: reserved,
            payload: payload,
            evicted: &evicted
        )
        if trace != nil { traceSteps() }
        guard case .accepted(let sequence, isCrowded: false) = outcome, isBackedUp, waits(name) else { return outcome }
        return .accepted(sequence: sequence, isCrowded: true)
    }

    /// Puts an event into the outbox and writes it; only for an event that no other link gets, and for a link whose
    /// overflow policies are all `wait`.
    ///
    /// - Parameters:
    ///   - number: this process's number for the name.
    ///   - ifFull: says whether the event is taken only if it need not wait for room.
    package func send(
        _ context: BorrowedContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer,
        ifFull: FullOutboxAction
    ) -> Enqueued {
        lock.lock()
        if let closed {
            lock.unlock()
            return closed
        }
        if mustWait(ifFull) {
            lock.unlock()
            return .crowded
        }
        let outcome = sending.take(context, name: name, number: number, payload: payload)
        guard case .accepted(let sequence, _) = outcome else {
            lock.unlock()
            return outcome
        }
        if trace != nil { traceSteps() }
        pumpAndUnlock(flushing(at: context.nanosecondsSinceEpoch))
        return .accepted(sequence: sequence, isCrowded: false)
    }

    /// Puts the events of a run into the outbox, as long as none needs to wait for room, and writes them together; only
    /// for events that no other link gets, and for a link whose overflow policies are all `wait`.
    ///
    /// - Parameter number: this process's number for the name.
    /// - Returns: Whether the outbox has all events of the run; if not, it has those before the one in hand.
    package func pass(_ run: inout EventRun, name: String, number: UInt64) -> Bool {
        lock.lock()
        var (hasTaken, isOver) = (false, false)
        while !isOver, closed == nil, hasRoomNow,
            case .accepted = sending.take(run.context, name: name, number: number, payload: run.payload)
        {
            hasTaken = true
            isOver = !run.handledTakesNext()
        }
        guard hasTaken else {
            lock.unlock()
            return false
        }
        if trace != nil { traceSteps() }
        pumpAndUnlock(flushing(at: WallClock.now()))
        return isOver
    }

    /// Puts an event that awaits no receipt into the outbox, where it stays until it is released; only for a link whose
    /// overflow policies are all `wait`.
    ///
    /// - Parameters:
    ///   - number: this process's number for the name.
    ///   - room: the room that was reserved for the event; it stays reserved if the event is not taken.
    ///   - ifFull: says whether the event is taken only if it need not wait for room.
    ///   - isOwed: whether a journal has to hear what becomes of the event here.
    package func hold(
        _ context: BorrowedContext,
        name: String,
        number: UInt64,
        in room: Reservation? = nil,
        payload: UnsafeRawBufferPointer,
        ifFull: FullOutboxAction = .fail,
        isOwed: Bool
    ) -> Enqueued {
        lock.lock()
        defer { lock.unlock() }
        if let closed { return closed }
        if mustWait(ifFull) { return .crowded }
        let reserved = room?.bytes ?? 0
        var taking = SendState.Taking.held
        if reserved > 0 { taking.insert(.withRoom) }
        if isOwed { taking.insert(.owed) }
        let outcome = sending.take(context, name: name, number: number, as: taking, payload: payload)
        if case .accepted = outcome { sending.giveBack(reserved) }
        if trace != nil { traceSteps() }
        return outcome
    }

    /// Puts an event of a journal, replayed to this peer alone, into the outbox, if there is room; ``pump()`` then
    /// writes it.
    ///
    /// The caller has waited for its turn (``waitForRoom(_:)``), so it does not matter whether other publishers wait.
    package func replay(
        _ context: EventContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        lock.withLock {
            if let closed { return closed }
            guard hasRoomInTurn else { return .crowded }
            let outcome = sending.takeReplayed(context, name: name, number: number, payload: payload)
            if trace != nil { traceSteps() }
            return outcome
        }
    }

    /// Puts the event of a dead letter into the outbox again, if there is room; ``pump()`` then writes it.
    ///
    /// No overflow policy acts on the event.
    ///
    /// - Parameter isOwed: whether a journal records the event, and has to hear what becomes of it here.
    package func redeliver(
        _ context: EventContext,
        name: String,
        attempt: UInt64,
        isOwed: Bool,
        payload: UnsafeRawBufferPointer
    ) -> Enqueued {
        lock.withLock {
            if let closed { return closed }
            let outcome = sending.takeLetter(context, name: name, attempt: attempt, isOwed: isOwed, payload: payload)
            if trace != nil { traceSteps() }
            return outcome
        }
    }

    /// Tells the peer of a gap, in the place where the missing events would have come.
    ///
    /// - Returns: Whether the link takes the gap: one that takes no more events takes none.
    @discardableResult
    package func note(_ gap: Gap) -> Bool {
        let isNoted = lock.withLock {
            guard closed == nil else { return false }
            sending.note(gap)
            return true
        }
        if isNoted { pump() }
        return isNoted
    }

    /// Why no event is taken any more; nil as long as events are taken.
    ///
    /// An outbox in shared memory outlives the stream: the host reads it when this process has ended. So a worker goes
    /// on putting events there after its goodbye, until its process ends or ``close()`` is called.
    ///
    /// With the lock held.
    @inline(__always)
    var closed: Enqueued? {
        // Nearly always so, and then nothing else is asked.
        if !ending.isClosedHere, !ending.hasEnded, !farewell.hasLeft { return nil }
        return refusal
    }

    private var refusal: Enqueued? {
        if ending.isClosedHere, role == .worker { return .ended }
        if farewell.hasLeft, sharedHead != nil { return nil }
        if ending.hasEnded { return .ended }
        return farewell.hasLeft ? .finished : nil
    }

    private func waits(_ name: String) -> Bool { limits.overflow.policy(of: name) == .wait }

    /// Whether so many of the peer's own events pile up in its outbox that publishers of events for it have to wait.
    ///
    /// The peer's handlers publish without waiting for room. If the receivers of those events are slow, the events pile
    /// up in the peer's own outbox. So the publishers whose events cause that are slowed down. A peer of which a
    /// single thread publishes, and waits for room, stays below this limit while both sides have the default limits.
    ///
    /// With the lock held.
    @inline(__always)
    var isBackedUp: Bool { backlogBytes >= 2 * limits.outboxBytes }

    /// How many charged bytes the peer has published and this side has not received, as far as this side can know.
    ///
    /// If the peer uses no shared memory, the events count that it has handled and this side still keeps: until the
    /// peer's own events have arrived, and all events before them are handled.
    @inline(__always)
    private var backlogBytes: Int {
        guard let outbox = peerMemory.outbox, outbox.isUsed else { return sending.outbox.creditedBytes }
        return backlogBytes(in: outbox)
    }

    private func backlogBytes(in outbox: OutboxProgress) -> Int {
        let (arrived, received) = receiving.progress()
        let accepted = outbox.accepted
        if accepted <= arrived { return 0 }
        // The peer's numbers are capped: any more events or bytes are too much anyway.
        let limit = UInt64(limits.outboxBytes) * 4
        let events = accepted.clamped(to: arrived + limit)
        let bytes = max(received, outbox.acceptedBytes.clamped(to: received + limit))
        return Int(max((events - arrived) * UInt64(LinkLimits.minimumCharge), bytes - received))
    }

    // MARK: - Held and kept

    /// Lets a held event, and the events behind it, leave.
    package func release(_ sequence: UInt64) { lock.withLock { sending.release(sequence) } }

    /// Whether this link, which has ended, still holds an event that has to go into other outboxes first.
    package var isHolding: Bool { lock.withLock { sending.gate.isHolding } }

    /// Lets events leave from now on: the peer has said what it wants.
    ///
    /// If an event that waits is larger than the peer takes, none leaves: the link is broken off, and ``unfinished``
    /// has this event.
    package func releaseEvents() {
        let brokenStream = lock.withLock { () -> (any ByteStream)? in
            guard let problem = sending.peerIsReady() else { return nil }
            ending.breakOff(problem)
            return stream
        }
        pump()
        // The reading thread first finds what has arrived before, and then that the link is broken off.
        brokenStream?.finishReading()
    }

    /// Lets no event leave any more, if the link is quiet, and has been quiet since ``activity`` was read.
    ///
    /// An event that is taken after this call waits for the next incarnation: it has not left, so its delivery there is
    /// its first.
    ///
    /// - Returns: Whether events are kept from leaving.
    package func keepEventsIfIdle(since activity: UInt64) -> Bool {
        lock.withLock {
            guard ending.isWritable, sending.isEmpty, isQuietNow, activityNow == activity else { return false }
            sending.keep()
            return true
        }
    }

    /// Lets events leave again after ``keepEventsIfIdle(since:)``: the peer stays.
    package func letEventsLeave() {
        lock.withLock { sending.letEventsLeave() }
        pump()
    }

    /// Lets no event leave any more: the peer finishes what it has, and another process takes its place.
    ///
    /// The peer may still acknowledge what has left, and this side still acknowledges what the peer publishes.
    package func keepEvents() {
        lock.withLock {
            sending.keep()
            // The last acknowledgement may wait for an event that will never leave: the next batch acknowledges again.
            receiving.lastAcknowledgementMayNeverStand()
        }
        pump()
    }

    /// Keeps events from leaving, or lets them leave again; ``pauseChanged()`` then acts on it.
    package func setPaused(_ isPaused: Bool) {
        lock.withLock {
            sending.setPaused(isPaused)
            // The last acknowledgement may wait for an event that stays: the peer's publishers must not wait with it.
            if isPaused { receiving.lastAcknowledgementMayNeverStand() }
        }
    }

    /// Writes what may leave now, and wakes the callers that wait for the link to be quiet.
    package func pauseChanged() {
        passTurnOn()
        pump()
    }

    // MARK: - Reservations

    /// Room for one event: used up when the event is enqueued, or given back.
    package struct Reservation: Sendable {
        package let link: Link
        /// How many bytes are kept; 0 for none.
        fileprivate let bytes: Int

        fileprivate init(_ bytes: Int, at link: Link) { (self.link, self.bytes) = (link, bytes) }

        /// Keeps no room: the link takes the event if there is room by then.
        package init(ofNothingAt link: Link) { self.init(0, at: link) }

        /// Gives back the room, which is not needed after all, and wakes the callers that may have waited for it.
        package func cancel() {
            link.lock.withLock { link.sending.giveBack(bytes) }
            if bytes > 0 { link.passTurnOn() }
        }
    }

    /// What came of the attempt to reserve room for an event.
    package enum Reserving {
        case reserved(Reservation)
        /// Why there is no room.
        case refused(Enqueued)
    }

    /// Reserves room for an event, so that no other event takes that room.
    ///
    /// - Parameters:
    ///   - ifFull: says whether room is reserved only if the event need not wait for it.
    ///   - isOneOfSeveral: whether the event goes to other outboxes, too. All of them may never be below their limits
    ///     at the same moment, so a caller that has had its turn at each takes room up to the hard limit.
    package func reserve(
        for payload: UnsafeRawBufferPointer,
        name: String,
        ifFull: FullOutboxAction,
        isOneOfSeveral: Bool = false
    ) -> Reserving {
        lock.withLock {
            if let closed { return .refused(closed) }
            let isInTurn = if case .turn = ifFull { isOneOfSeveral } else { false }
            if !isInTurn, mustWait(ifFull), waits(name) { return .refused(.crowded) }
            if let problem = sending.problem(with: payload, name: name) {
                if isInTurn, case .full = problem, mustWait(ifFull), waits(name) { return .refused(.crowded) }
                return .refused(problem)
            }
            return .reserved(Reservation(sending.reserve(for: payload), at: self))
        }
    }

    // MARK: - Tracing

    /// Notes the steps of events in `recorder` from now on; nil ends that.
    package func setTrace(_ recorder: SpanRecorder?) {
        lock.withLock {
            trace = recorder.map { trace ?? LinkTrace(recorder: $0, peer: peerName) }
            sending.setTraced(trace != nil)
        }
    }

    /// Notes the steps of events since the last call.
    ///
    /// With the lock held.
    func traceSteps() {
        let steps = sending.takeSteps()
        if !steps.isEmpty { trace?.note(steps, at: MonotonicClock.now()) }
    }
}
