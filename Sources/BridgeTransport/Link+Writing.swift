import BridgePlatform
package import BridgeProtocol
import DomainEvents
import Locks
import Synchronization

/// The writing half: one writer at a time, which writes batches until nothing is left, or until it has written enough.
///
/// The publishing thread writes to an idle link itself: one system call, no switch of threads. While a write is under
/// way, and just after it, events gather and leave together. If other threads enqueue faster than a thread writes, the
/// poller takes its place, so that each call of a publisher ends.
extension Link {
    /// About how many bytes leave in one system call.
    private static let batchBytes = 256 << 10

    // MARK: - Flushing

    /// Whether a write has just ended, so that what is enqueued now is gathered; takes no lock.
    ///
    /// - Parameter now: as in ``flush(at:isGathered:)``.
    package func isBusy(at now: UInt64) -> Bool {
        WriterState.isBusy(at: now, lastWriteEnded: times.lastWriteEnded.load(ordering: .relaxed))
    }

    /// Writes what was enqueued: now if the link is idle, with the next batch if it is busy.
    ///
    /// - Parameters:
    ///   - now: The wall-clock time of the event's context, in nanoseconds, which saves a clock read. If the clock
    ///     jumps, one event leaves a little earlier or later.
    ///   - isGathered: whether the event leaves with the next batch even if the link is idle.
    package func flush(at now: UInt64, isGathered: Bool = false) {
        lock.lock()
        pumpAndUnlock(flushing(at: now, isGathered: isGathered))
    }

    /// Lets a held event, and the events behind it, leave, and then does the same as ``flush(at:isGathered:)``.
    package func releaseAndFlush(_ sequence: UInt64, at now: UInt64, isGathered: Bool = false) {
        lock.lock()
        sending.release(sequence)
        pumpAndUnlock(flushing(at: now, isGathered: isGathered))
    }

    /// Which thread writes what was enqueued just now.
    ///
    /// With the lock held. The parameters are those of ``flush(at:isGathered:)``.
    func flushing(at now: UInt64, isGathered: Bool = false) -> WriterState.Flush {
        // If the peer is down, its next start may wait for this event.
        if stream == nil { return .now }
        if farewell.hasLeft { return .byOthers }
        return writer.enqueued(at: now, isGathered: isGathered, mayLeave: sending.hasWritable)
    }

    /// Has the poller write what has gathered.
    func leaveToPoller() {
        // What the poller accepts, it performs, even if it is stopped before that.
        if poller.perform({ self.flushScheduled() }) { return }
        // A poller that is stopping takes no work: this thread then writes all of it, because no other thread will.
        lock.lock()
        writer.gatheredBegins()
        pumpAndUnlock(isBounded: false)
    }

    /// Writes what has gathered, and lets more gather if there is a flood.
    ///
    /// - Parameter gathered: for how many nanoseconds events have gathered; 0 if the poller was woken just now.
    private func flushScheduled(after gathered: UInt64 = 0) {
        let before = lock.withLock {
            writer.gatheredBegins()
            return sending.outbox.lastComposed
        }
        pump()
        let next = lock.withLock {
            writer.gatheredLeft(
                after: gathered,
                brought: sending.outbox.lastComposed - before,
                isOver: ending.hasEnded
            )
        }
        // In a flood a publishing thread wakes no other thread: events gather, and the poller writes them after a
        // moment.
        if let next { poller.schedule(after: next) { self.flushScheduled(after: next) } }
    }

    // MARK: - Control

    /// Queues a message and writes what can be written.
    package func send(_ message: ControlMessage) {
        queue(message)
        pump()
    }

    /// Queues a message for the next batch.
    ///
    /// If the message is an interest that is larger than the peer takes, a host tells it in parts. A worker breaks the
    /// link off instead, and so does a host if one of the names, alone in a frame, is larger than the peer takes.
    package func queue(_ message: ControlMessage) {
        let brokenStream = lock.withLock { () -> (any ByteStream)? in
            guard ending.takesMessages, !farewell.hasLeft else { return nil }
            if case .interest(let interest) = message, let problem = batch.problem(of: interest) {
                guard role == .host, batch.problem(ofChanges: interest) == nil else { return breakOff(problem) }
                batch.queueInParts(interest)
                return nil
            }
            let waiting = batch.queue(message)
            if case .reject = message {
                receiving.peerWasRejected()
                (stream as? LinesStream)?.peerWasRejected()
            }
            return limit(waiting)
        }
        brokenStream?.finishReading()
    }

    /// Breaks the link off if too many bytes of control messages wait for a peer that takes nothing in.
    ///
    /// With the lock held.
    ///
    /// - Returns: As ``breakOff(_:)``; nil if the link is not broken off.
    func limit(_ waiting: Int) -> (any ByteStream)? {
        guard waiting > LinkLimits.waitingControlBytes else { return nil }
        return breakOff(
            """
            it takes nothing in: \(waiting) bytes of control messages wait for it; the limit is \
            \(LinkLimits.waitingControlBytes)
            """
        )
    }

    /// Breaks the link off for a reason that the peer is told.
    ///
    /// With the lock held.
    ///
    /// - Returns: The stream. Without the lock the caller then calls its `finishReading()`: the reading thread first
    ///   finds what has arrived before, and then that the link is broken off.
    private func breakOff(_ reason: String) -> (any ByteStream)? {
        ending.breakOff(reason)
        return stream
    }

    /// Queues changes of this side's interest for the next batch, behind the whole interest.
    ///
    /// The changes do not count as bytes that wait for the peer: another process causes them. However often it does, no
    /// more waits than each name once.
    ///
    /// Breaks the link off if one of the changes, alone in a frame, is larger than the peer takes.
    package func queue(changes: Interest) {
        let brokenStream = lock.withLock { () -> (any ByteStream)? in
            guard ending.takesMessages, !farewell.hasLeft else { return nil }
            if let problem = batch.problem(ofChanges: changes) { return breakOff(problem) }
            batch.queue(changes: changes)
            return nil
        }
        brokenStream?.finishReading()
    }

    /// Whether the stream has taken all that was sent.
    package var isFlushed: Bool {
        lock.withLock { writer.isResting && batch.isWritten }
    }

    /// Shows the peer that this side lives: by a count in the shared outbox, if the peer reads it there; otherwise by a
    /// frame, unless a control frame still waits to leave.
    package func sendHeartbeat() {
        let isQueued = lock.withLock {
            if sending.peerReadsHeartbeats, let sharedHead {
                sharedHead.beat()
                return false
            }
            guard ending.isWritable, !farewell.hasLeft, !batch.isControlWaiting else { return false }
            batch.queue(.heartbeat)
            return true
        }
        if isQueued { pump() }
    }

    /// The peer's process is known to be gone, though another process may hold its socket: this side reads what has
    /// arrived, and no further.
    package func peerIsGone() {
        let stream = lock.withLock {
            ending.peerWent()
            peerWent.broadcast()
            return self.stream
        }
        stream?.finishReading()
    }

    /// Says goodbye after everything that lies in the outbox, and writes nothing after the goodbye.
    ///
    /// Events are taken until the goodbye is composed. If the outbox is shared with the host, events are taken after
    /// the goodbye too: the host finds them there when this process has ended.
    ///
    /// - Parameter isClosedNext: whether the caller closes the link right after this call. The poller would then come
    ///   too late, so this thread itself writes all that the stream takes at once.
    package func finish(reason: Goodbye.Reason, text: String, isClosedNext: Bool = false) {
        lock.lock()
        farewell.said(reason, text: text, behind: sending.outbox.lastSequence)
        pumpAndUnlock(isBounded: !isClosedNext)
    }

    // MARK: - The writer

    /// Writes until nothing is left, the stream takes no more, or this thread has written so often that the poller goes
    /// on; writes nothing if another thread is writing.
    package func pump() {
        lock.lock()
        pumpAndUnlock()
    }

    /// Does the same as ``pump()`` with the lock held, if this thread is the one that writes, and releases the lock.
    ///
    /// - Parameters:
    ///   - flush: which thread writes, as ``flushing(at:isGathered:)`` says.
    ///   - isBounded: whether the poller may write the rest; if not, this thread writes until nothing is left or the
    ///     stream takes no more.
    func pumpAndUnlock(_ flush: WriterState.Flush = .now, isBounded: Bool = true) {
        switch flush {
        case .now: break
        case .byOthers: return lock.unlock()
        case .soon:
            lock.unlock()
            return leaveToPoller()
        }
        guard ending.isWritable, let stream, writer.begin() else {
            let isDemanded = waiters.isDemandAwaited
            lock.unlock()
            if isDemanded { demandArose() }
            return
        }
        var (isStalled, hasFailed, isHandedOver) = (false, false, false)
        while batch.isUnderWay || !farewell.hasLeft {
            if !batch.isUnderWay {
                batch.begin()
                sending.leave(in: &batch, atMost: Self.batchBytes, at: MonotonicClock.now)
                if trace != nil { traceLeft() }
                addAcknowledgementAndGoodbye()
                guard batch.close() else { break }
            }
            if isBounded, !writer.mayWriteOn() {
                isHandedOver = true
                break
            }
            let pieces = batch.remainder
            lock.unlock()
            let outcome = stream.write(pieces)
            lock.lock()
            guard case .transferred(let count) = outcome else {
                isStalled = outcome == .wouldBlock
                hasFailed = !isStalled
                break
            }
            if batch.wasWritten(count) { wasSettled(sending.batchWasWritten()) }
        }
        let now = WallClock.now()
        times.lastWriteEnded.store(now, ordering: .relaxed)
        let mustWakePoller = isHandedOver && writer.handedOver(at: now)
        if !isHandedOver { writer.writeEnded(at: now, isStalled: isStalled) }
        // A goodbye that is handed over is composed, but not yet written.
        let hasSaidGoodbye = farewell.hasLeft && !isHandedOver
        let woken = takeWoken()
        let tellUnconfirmed = takeUnconfirmed()
        lock.unlock()
        if mustWakePoller { leaveToPoller() }
        for body in woken { body() }
        tellUnconfirmed?()
        if isStalled {
            // The reference is strong: a weak one makes all counted references expensive. A link that ends releases
            // its stream.
            stream.whenWritable { [self] in
                lock.withLock { writer.streamTakesMore() }
                pump()
            }
        } else if hasSaidGoodbye || hasFailed {
            // After a failed write the reader learns what happened; it may still find frames that arrived before.
            stream.finishWriting()
        }
    }

    /// Adds to the batch, behind its events, the acknowledgement and the goodbye, if they are to leave now.
    ///
    /// With the lock held.
    private func addAcknowledgementAndGoodbye() {
        let isLast = farewell.isWaiting && farewell.mayLeave(behind: sending.remainder(isShared: sharedHead != nil))
        if receiving.mayHaveToSay { acknowledge(isLast: isLast) }
        if isLast, let goodbye = farewell.leaves(behind: sending.outbox.lastComposed, handled: receiving.mark) {
            batch.queue(.goodbye(goodbye))
        }
    }

    /// Adds an acknowledgement to the batch, if an acknowledgement is to leave now.
    ///
    /// With the lock held.
    private func acknowledge(isLast: Bool) {
        let leaving = AcknowledgementPlan.Batch(
            carriesFrames: batch.carriesFrames,
            isLast: isLast,
            lastComposed: sending.outbox.lastComposed,
            lastSequence: sending.outbox.lastSequence,
            queued: sending.queue.count,
            isHeldBack: sending.holdsBack
        )
        if let acknowledgement = receiving.batchLeaves(leaving) {
            batch.queue(acknowledgement, incarnation: parties.ownIncarnation)
        }
    }

    /// With the lock held.
    private func traceLeft() {
        traceSteps()
        trace?.left(through: sending.outbox.lastComposed, at: MonotonicClock.now())
    }

    /// Notes in the trace the events that were settled by being written, for a peer that acknowledges nothing;
    /// ``takeUnconfirmed()`` has to follow.
    ///
    /// With the lock held.
    ///
    /// - Parameter settled: the acknowledgement of those events; nil for any other peer.
    func wasSettled(_ settled: CheckedAcknowledgement?) {
        if let settled, trace != nil { trace?.acknowledged(settled, at: MonotonicClock.now()) }
    }

    /// A closure that reports the events written for a peer that acknowledges nothing, as far as a publisher or a
    /// journal has to hear of them; nil for any other peer, and if there are none.
    ///
    /// With the lock held; the caller calls the closure without the lock.
    func takeUnconfirmed() -> (() -> Void)? {
        guard sending.unconfirmed.isEverything else { return nil }
        let (awaited, sink) = (sending.takeUnconfirmed(), sinks.events)
        let mustTell = !sending.outbox.untold.isEmpty
        if awaited.isEmpty, !mustTell { return nil }
        return {
            if !awaited.isEmpty { sink?.link(self, leftUnconfirmed: awaited) }
            if mustTell { self.tellSettled() }
        }
    }
}
