import BridgePlatform
package import BridgeProtocol
package import DomainEvents
import Locks

/// The writing half: one writer at a time, which takes all there is in batches until nothing is left.
///
/// An idle line is written on the thread that publishes: one system call, no switch. Behind a write that has just ended, or is
/// under way, events gather and leave together.
extension Link {
    /// About how much leaves in one system call.
    private static let batchBytes = 256 << 10

    // MARK: - Flushing

    /// Writes what was enqueued: now if the line is idle, with the next batch if it is busy.
    ///
    /// - Parameters:
    ///   - now: The wall-clock time in nanoseconds, as it stands in the event's context: a clock read is saved, and a
    ///     clock that jumps only makes one event leave a little earlier or later.
    ///   - isGathered: whether it leaves with the next batch though the line is idle.
    package func flush(at now: UInt64, isGathered: Bool = false) {
        flush(lock.withLock { wayToFlush(at: now, isGathered: isGathered) })
    }

    /// How what was enqueued is written.
    enum Flush {
        /// By a thread of this link.
        case byLink(WriterState.Flush)
        /// There is no peer, and its start waits for the demand.
        case byNextPeer
    }

    /// With the lock held; what it says is to be done without.
    func wayToFlush(at now: UInt64, isGathered: Bool = false) -> Flush {
        if stream == nil, waiters.isDemandAwaited { return .byNextPeer }
        if stream == nil || farewell.hasLeft { return .byLink(.byOthers) }
        return .byLink(writer.enqueued(at: now, isGathered: isGathered, mayLeave: hasWritable))
    }

    func flush(_ way: Flush) {
        switch way {
        case .byNextPeer: demandArose()
        case .byLink(.byOthers): return
        case .byLink(.now): pump()
        case .byLink(.soon):
            // A poller that is stopping takes nothing: then this thread writes after all.
            if !poller.perform({ self.flushScheduled() }) { flushScheduled() }
        }
    }

    /// Writes what has gathered, and lets more gather if there is a flood.
    ///
    /// - Parameter gathered: for how long it has gathered; 0 if the poller was told just now.
    private func flushScheduled(after gathered: UInt64 = 0) {
        let before = lock.withLock {
            writer.gatheredBegins()
            return outbox.lastComposed
        }
        pump()
        let next = lock.withLock {
            writer.gatheredLeft(after: gathered, brought: outbox.lastComposed - before, isOver: ending.hasEnded)
        }
        // Whoever publishes in a flood wakes nobody: events gather, and are looked for after a moment.
        if let next { poller.schedule(after: next) { self.flushScheduled(after: next) } }
    }

    // MARK: - Control

    /// Queues a message and writes what can be written.
    package func send(_ message: ControlMessage) {
        queue(message)
        pump()
    }

    /// Queues a message; the next batch takes it along.
    package func queue(_ message: ControlMessage) {
        let brokenStream = lock.withLock { () -> (any ByteStream)? in
            guard ending.takesMessages, !farewell.hasLeft else { return nil }
            let waiting = batch.queue(message)
            if case .reject = message { receiving.peerWasRejected() }
            guard waiting > LinkLimits.waitingControlBytes else { return nil }
            ending.breakOff(
                """
                it takes nothing in: \(waiting) bytes of control messages wait for it; the limit is \
                \(LinkLimits.waitingControlBytes)
                """
            )
            return stream
        }
        // The reading thread finds what has arrived before, and then this.
        brokenStream?.finishReading()
    }

    /// Whether the stream has taken all that was sent.
    package var isFlushed: Bool {
        lock.withLock { writer.isResting && batch.isWritten }
    }

    /// Shows that this side is alive; left out when the last sign of life has not even left.
    package func sendHeartbeat() {
        let isQueued = lock.withLock {
            guard ending.isWritable, !farewell.hasLeft, !batch.isControlWaiting else { return false }
            batch.queue(.heartbeat)
            return true
        }
        if isQueued { pump() }
    }

    /// Reads what has arrived to its end and no further: the peer's process is known to be gone, whoever else holds its socket.
    package func peerIsGone() {
        let stream = lock.withLock {
            ending.peerWent()
            peerWent.broadcast()
            return self.stream
        }
        stream?.finishReading()
    }

    /// Says goodbye behind everything that lies in the outbox, and writes nothing after that.
    ///
    /// Events are taken until the goodbye is composed. Where the outbox is shared with the host they are taken behind it too, and the host
    /// finds them there when this process has ended.
    package func finish(reason: Goodbye.Reason, text: String) {
        lock.withLock {
            farewell.said(reason, text: text, behind: outbox.lastSequence)
        }
        pump()
    }

    // MARK: - Acknowledging

    /// Takes note that the last handler of an event has returned.
    package func eventHandled(_ sequence: UInt64, wasUnwanted: Bool = false) {
        let urgency = lock.withLock { note(handled: sequence, wasUnwanted: wasUnwanted) }
        act(on: urgency)
    }

    /// Refuses an event: its sender learns why, and it is settled with that.
    package func refuse(_ sequence: UInt64, _ reason: Refusal.Reason, text: String) {
        let urgency = lock.withLock {
            let refusal = Refusal(sequence: sequence, reason: reason.rawValue, text: text.shortened())
            // Of a peer that is gone nobody would take this out again.
            if !ending.isReadToEnd { batch.queue(.refuse(refusal)) }
            return noted(sequence, receiving.refused(sequence, isQuietAwaited: waiters.isQuietAwaited))
        }
        act(on: urgency)
        pump()
    }

    /// With the lock held.
    ///
    /// Says whether to write now, to set the timer, or neither.
    func note(handled sequence: UInt64, wasUnwanted: Bool = false) -> ReceiveWindow.Urgency {
        let isQuietAwaited = waiters.isQuietAwaited
        return noted(
            sequence,
            receiving.handled(sequence, wasUnwanted: wasUnwanted, isQuietAwaited: isQuietAwaited)
        )
    }

    /// With the lock held.
    ///
    /// - Parameter urgency: with which the peer is to be told.
    func noted(_ sequence: UInt64, _ urgency: ReceiveWindow.Urgency) -> ReceiveWindow.Urgency {
        sharedHead?.closed(sequence)
        return urgency == .soon && !setTick(watching: 0) ? .none : urgency
    }

    func act(on urgency: ReceiveWindow.Urgency) {
        switch urgency {
        case .none: return
        case .now: pump()
        case .soon: startTick()
        }
    }

    /// Acknowledges all that is handled without waiting for a ride.
    package func acknowledgeNow() {
        lock.withLock { receiving.acknowledgementIsDue() }
        pump()
    }

    // MARK: - Receipts

    /// Tells the peer what a process says of an event, for whoever waits to hear it.
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

    // MARK: - The writer

    /// Writes until nothing is left, the stream takes no more, or somebody else is at it already.
    package func pump() {
        lock.lock()
        guard ending.isWritable, let stream, writer.begin() else {
            let isDemanded = waiters.isDemandAwaited
            lock.unlock()
            if isDemanded { demandArose() }
            return
        }
        var isStalled = false
        var hasFailed = false
        while batch.isUnderWay || composeBatch() {
            let pieces = batch.remainder
            lock.unlock()
            let outcome = stream.write(pieces)
            lock.lock()
            guard case .transferred(let count) = outcome else {
                isStalled = outcome == .wouldBlock
                hasFailed = !isStalled
                break
            }
            if batch.wasWritten(count) { batchWasWritten() }
        }
        writer.writeEnded(at: WallClock.now(), isStalled: isStalled)
        let hasSaidGoodbye = farewell.hasLeft
        let woken = takeWoken()
        let tellUnconfirmed = takeUnconfirmed()
        lock.unlock()
        for body in woken { body() }
        tellUnconfirmed?()
        if isStalled {
            // Strong until then: weak references to an object make every counted one of it dearer. A link that ends lets go of its stream.
            stream.whenWritable { [self] in
                lock.withLock { writer.streamTakesMore() }
                pump()
            }
        } else if hasSaidGoodbye || hasFailed {
            // After a failed write the reader learns what happened; it may still find frames that arrived before.
            stream.finishWriting()
        }
    }

    /// Collects what leaves next; false if there is nothing.
    ///
    /// With the lock held.
    private func composeBatch() -> Bool {
        guard !farewell.hasLeft else { return false }
        batch.begin()
        if gate.isOpen {
            promote(atMost: Self.batchBytes)
            let before = outbox.lastComposed
            batch.takeEvents(from: &outbox, maximumBytes: Self.batchBytes, through: gate.last)
            if outbox.lastComposed > before { eventsLeave(after: before) }
        }
        let isLast = farewell.isWaiting && farewell.mayLeave(behind: remainder)
        if receiving.mayHaveToSay { acknowledge(isLast: isLast) }
        if isLast, let goodbye = farewell.leaves(behind: outbox.lastComposed, handled: receiving.mark) {
            batch.queue(.goodbye(goodbye))
        }
        return batch.close()
    }

    /// With the lock held.
    private var remainder: Farewell.Remainder {
        Farewell.Remainder(
            lastComposed: outbox.lastComposed,
            lastSequence: outbox.lastSequence,
            isQueueEmpty: queue.isEmpty,
            isShared: sharedHead != nil
        )
    }

    /// Lets an acknowledgement ride on the batch, if one is to.
    ///
    /// With the lock held.
    private func acknowledge(isLast: Bool) {
        let leaving = AcknowledgementPlan.Batch(
            carriesFrames: batch.carriesFrames,
            isLast: isLast,
            lastComposed: outbox.lastComposed,
            lastSequence: outbox.lastSequence,
            queued: queue.count,
            isHeldBack: gate.holdsBack
        )
        if let acknowledgement = receiving.batchLeaves(leaving) {
            batch.queue(.acknowledge(acknowledgement, incarnation: parties.ownIncarnation))
        }
    }

    /// With the lock held.
    private func batchWasWritten() {
        outbox.composedWasWritten()
        if acknowledgesNothing { settleUnconfirmed() }
    }
}
