import BridgePlatform
package import BridgeProtocol
package import DomainEvents
import Locks
import Synchronization

/// What becomes of the peer's events here, when the peer hears of that, and what the peer says of this side's events.
extension Link {
    /// Notes that the last handler of an event has returned.
    package func eventHandled(_ sequence: UInt64, wasUnwanted: Bool = false) {
        let urgency = lock.withLock {
            let isQuietAwaited = waiters.isQuietAwaited
            return noted(
                sequence,
                receiving.handled(sequence, wasUnwanted: wasUnwanted, isQuietAwaited: isQuietAwaited)
            )
        }
        act(on: urgency)
    }

    /// Refuses and so settles an event, and takes it out of the window.
    package func refuse(_ sequence: UInt64, _ reason: Refusal.Reason, text: String) {
        if queueRefusal(of: sequence, reason, text: text) { refusedEventLeft(sequence) }
        pump()
    }

    /// Refuses and so settles an event, which stays in the window until ``refusedEventLeft(_:)``.
    ///
    /// If this side can still write to the sender, the next batch says why; the caller lets it leave with ``pump()``.
    ///
    /// - Returns: False if the link is broken off; then the event stays unsettled and in the window.
    package func queueRefusal(of sequence: UInt64, _ reason: Refusal.Reason, text: String) -> Bool {
        let (isSettled, brokenStream) = lock.withLock { () -> (Bool, (any ByteStream)?) in
            if ending.isWritable, !ending.takesMessages {
                // The link is broken off, and tells the peer nothing more: no acknowledgement may settle the event.
                receiving.isPending(sequence)
                // No handler has the event any more, so it is not to blame for this process's end.
                sharedHead?.closed(sequence)
                return (false, nil)
            }
            let refusal = Refusal(sequence: sequence, reason: reason.rawValue, text: text.shortened())
            // After the stream's end, or this side's goodbye, no writer would take the refusal out of the batch.
            let isTold = ending.takesMessages && !farewell.hasLeft
            return (true, isTold ? limit(batch.queue(.refuse(refusal))) : nil)
        }
        brokenStream?.finishReading()
        return isSettled
    }

    /// Notes that an event which was refused leaves the window.
    package func refusedEventLeft(_ sequence: UInt64) {
        let urgency = lock.withLock {
            noted(sequence, receiving.refused(sequence, isQuietAwaited: waiters.isQuietAwaited))
        }
        act(on: urgency)
    }

    /// With the lock held, notes on the shared page that no handler has the event; returns what ``watched(_:)`` says.
    func noted(_ sequence: UInt64, _ urgency: ReceiveWindow.Urgency) -> ReceiveWindow.Urgency {
        sharedHead?.closed(sequence)
        return watched(urgency)
    }

    /// Whether to write now, to set the timer, or neither; with the lock held.
    func watched(_ urgency: ReceiveWindow.Urgency) -> ReceiveWindow.Urgency {
        urgency == .soon && !watch.set(watching: 0) ? .none : urgency
    }

    func act(on urgency: ReceiveWindow.Urgency) {
        switch urgency {
        case .none: return
        case .now: pump()
        case .soon: startWatch()
        }
    }

    // MARK: - What the peer says of this side's events

    func acknowledged(
        _ acknowledgement: Acknowledgement,
        incarnation: UInt64,
        at now: UInt64
    ) throws(LinkViolation) {
        let (woken, mayWrite) = try lock.withLock { () throws(LinkViolation) -> ([@Sendable () -> Void], Bool) in
            try receiving.messageReceived(.acknowledge, eventsSent: sending.outbox.lastComposed, now: now)
            // An acknowledgement of another incarnation says nothing about the present incarnation.
            guard incarnation == parties.peerIncarnation else { return ([], false) }
            let checked = try sending.credit(acknowledgement, at: now)
            trace?.acknowledged(checked, at: now)
            if receiving.acknowledged(checked, accepted: peerMemory.accepted) { sending.settle(checked) }
            noteSettled()
            try sending.checkOwed(behind: receiving.expectedArrival)
            return (takeWokenBySettling(), sending.hasWritable)
        }
        tellJournal()
        for body in woken { body() }
        if mayWrite { pump() }
    }

    /// Applies the waiting acknowledgements whose named event has arrived, or lies in memory that outlives the peer.
    ///
    /// With the lock held.
    func settlePending() -> [@Sendable () -> Void] {
        while let standing = receiving.takeStanding(peerMemory.accepted) { sending.settle(standing) }
        noteSettled()
        return takeWokenBySettling()
    }

    /// The waiters whose wait is over, and a call that tells the sink which events of a replay were settled; the caller
    /// calls them after unlocking.
    ///
    /// With the lock held.
    private func takeWokenBySettling() -> [LinkWaiters.Wake] {
        var woken = takeWoken()
        let replayed = sending.takeSettledReplays()
        if !replayed.isEmpty, let sink = sinks.events { woken.append { sink.link(self, sawReplaysSettled: replayed) } }
        return woken
    }

    func refused(_ refusal: Refusal, at now: UInt64) throws {
        // The frame is copied: the sink is called without the lock, and without the lock the outbox may change.
        let found = try lock.withLock { () throws(LinkViolation) -> (frame: [UInt8], owed: EventID?)? in
            guard let refused = try sending.refuse(refusal.sequence, at: now) else { return nil }
            trace?.refused(refused.sequence, at: now)
            return (Array(refused.frame.dropFirst(FrameDecoder.headBytes)), refused.owed)
        }
        guard let (frame, owed) = found else { return }
        let isNoted = try frame.withUnsafeBytes { body in
            let (head, payloadOffset) = try EventFrame.decode(body, limits: limits)
            return sinks.events?.link(
                self,
                wasRefused: head,
                payload: UnsafeRawBufferPointer(rebasing: body[payloadOffset...]),
                isOwed: owed != nil,
                refusal: refusal
            )
        }
        let woken = lock.withLock {
            // For some events, such as dead letters, the sink itself gives the journal a note. This side then gives no
            // second note: it could come after an operator has put the letter's event back, and the journal would take
            // the event for settled, though it is owed again.
            sending.refusalWasTold(settled: isNoted == true ? nil : owed)
            noteSettled()
            return takeWoken()
        }
        tellJournal()
        for body in woken { body() }
    }

    // MARK: - What a journal has to hear

    /// Notes that the journal has to hear of settled events, if there are any; ``tellJournal()`` has to follow.
    ///
    /// With the lock held, on the reading thread.
    func noteSettled() {
        if !sending.outbox.untold.isEmpty { mustTellJournal.store(true, ordering: .relaxed) }
    }

    /// Tells the sink which settled events a journal has to hear of by now.
    ///
    /// A journal hears of an acknowledged event only when the sink has got all that the event's handlers have
    /// published. Called without the lock by the thread whose turn it is to read, when the sink has got all that has
    /// arrived. A call by another thread could come between an event's arrival and its record in the journal. If this
    /// process were killed just then, that event would be lost, and its cause, noted as settled, would not come again.
    @inline(__always)
    func tellJournal() {
        if mustTellJournal.load(ordering: .relaxed) { tellSettled() }
    }

    /// Tells the sink which events the peer has settled, source by source.
    ///
    /// Called without the lock: see ``tellJournal()``. For a peer that acknowledges nothing, any thread may call this:
    /// such a peer names no event of its own that would have to be recorded first.
    func tellSettled() {
        var numbers: [ClosedRange<UInt64>] = []
        var arrived: UInt64?
        while true {
            let (source, sink) = lock.withLock {
                if arrived == nil { swap(&numbers, &sinks.numbers) }
                // What arrives during a call of the sink may not be recorded yet, so it does not count here.
                let recorded = arrived ?? receiving.lastArrived
                arrived = recorded
                // If the event that an acknowledgement names has not come by the link's end, it never comes: this side
                // has closed the link, or the peer has broken the protocol, or its memory is damaged. The acknowledged
                // events stay owed: the next host delivers them.
                let source = sending.takeUntold(recordedThrough: recorded, into: &numbers)
                mustTellJournal.store(!sending.outbox.untold.isEmpty, ordering: .relaxed)
                if source == nil { swap(&numbers, &sinks.numbers) }
                return (source, sinks.events)
            }
            guard let source else { return }
            sink?.link(self, sawSettled: numbers, of: source)
        }
    }

    // MARK: - Receipts

    /// Tells the peer what became of an event in a process, for the publisher that waits to hear it.
    package func sendReceipt(
        of id: EventID,
        process: String,
        outcome: Receipt.Outcome = .handled,
        handlers: Int = 0,
        text: String = "",
        passedOnTo: [String] = []
    ) {
        let receipt = Receipt(
            id: lock.withLock { parties.written(id) },
            process: process,
            outcome: outcome.rawValue,
            handlers: UInt64(clamping: handlers),
            text: text.shortened(),
            passedOnTo: passedOnTo
        )
        send(.receipt(receipt))
    }

    /// A worker has sent a receipt for an event; returns whether the receipt counts: the event went over this link with
    /// the wish for one, and this is the first.
    package func receiptCame(of id: EventID) -> Bool { lock.withLock { sending.receiptCame(of: id) } }

    // MARK: - A moment later

    /// For how many nanoseconds an acknowledgement may wait for a batch that leaves anyway; handlers may keep a link
    /// from being read for about twice as long.
    private static let watchDelay: UInt64 = 2_000_000

    /// Starts the timer of ``LinkWatch``, which fires on the poller's thread.
    func startWatch() {
        // The reference is strong: a weak reference to an object makes all counted references to it more expensive.
        poller.schedule(after: Self.watchDelay) { self.look() }
    }

    private func look() {
        let now = strand.blockingNow
        let (isSlow, starts) = lock.withLock {
            // The reading thread stores 0 in `lastRead` before it notes, under this lock, that an event has arrived. So
            // this load finds 0 as long as that thread acts on a noted event. If it finds another value, the next line
            // sees all that the thread has stored as handled, and the timer may end, though the thread says no more.
            let isBusy = !ending.isReadToEnd && times.lastRead.load(ordering: .acquiring) == 0
            receiving.acknowledgementIsDue()
            return watch.look(at: now, isBusy: isBusy)
        }
        pump()
        if isSlow { relieveReading(of: now) }
        if starts { startWatch() }
    }

    private func relieveReading(of sequence: UInt64) {
        guard case .needsThread = strand.relieve(sequence) else { return }
        let (stream, reader) = lock.withLock { (self.stream, self.reader) }
        do {
            guard let stream, let reader else { return strand.threadIsMissing() }
            try PlatformThread.start(name: "link \(peerName)") { self.relieve(stream, with: reader) }
        } catch {
            // The link waits for the handlers, and the timer tries again.
            strand.threadIsMissing()
        }
    }
}
