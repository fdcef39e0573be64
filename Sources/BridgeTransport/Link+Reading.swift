import BridgePlatform
package import BridgeProtocol
import CBOR
package import DomainEvents
import Locks
import Synchronization

/// The reading half: a thread blocks in a read, takes the frames apart in place, and acts on them.
extension Link {
    /// How a thread's turn of reading has ended.
    private enum TurnEnd {
        case ended(LinkEnd)
        /// The thread was in slow handlers, and another thread reads on.
        case handedOver
    }

    /// Reads and handles until the link has ended; after a hand-off of the reading to another thread, runs the handlers
    /// that wait in the strand, and then waits for its next turn.
    ///
    /// - Parameter turn: the calling thread's turn to read, as the strand counts turns; 0 is the first.
    func read(_ stream: any ByteStream, with reader: FrameReader, turn first: Int = 0) {
        var stream = stream
        var turn = first
        while true {
            switch readOn(&stream, with: reader, turn) {
            case .ended(let end):
                finishReading(end, stream)
                return
            case .handedOver:
                strand.workOff()
                guard let next = strand.waitForTurn() else { return }
                turn = next
                reader.leaveFrame()
            }
        }
    }

    /// Runs on a second thread, which gets the reading whenever the other thread is in slow handlers.
    func relieve(_ stream: any ByteStream, with reader: FrameReader) {
        guard let turn = strand.waitForTurn() else { return }
        reader.leaveFrame()
        read(stream, with: reader, turn: turn)
    }

    private func readOn(_ stream: inout any ByteStream, with reader: FrameReader, _ turn: Int) -> TurnEnd {
        while true {
            let arrived = reader.buffer.readable.count
            if let end = takeFrames(from: reader, turn) { return end }
            let now = MonotonicClock.now()
            times.frameProgress.store(reader.frameProgress(since: arrived, at: now), ordering: .relaxed)
            // The timer that finds this also finds what was handled before it: see ``look()``.
            times.lastRead.store(now, ordering: .releasing)
            let outcome = stream.read(into: reader.buffer.writable)
            times.lastRead.store(0, ordering: .relaxed)
            switch outcome {
            case .transferred(let count):
                reader.buffer.wasFilled(by: count)
                if !reader.hasBegun { stream = begin(stream, with: reader) }
            case .wouldBlock: continue
            case .endOfStream: return .ended(endOfStream(stream, reader))
            case .descriptorsPassed: return .ended(violated("it passed descriptors, which this side does not take"))
            case .failed(let error): return .ended(.failed(error.description))
            }
        }
    }

    /// The peer has spoken: its first byte shows its encoding, and from now on this side may answer.
    ///
    /// On the reading thread.
    ///
    /// - Returns: The stream to read on from: `stream`, or a stream of lines, which has taken the buffer's bytes.
    func begin(_ stream: any ByteStream, with reader: FrameReader) -> any ByteStream {
        reader.hasBegun = true
        guard role == .host else { return stream }
        guard reader.buffer.readable.first == LinesTranslator.firstByte else {
            lock.withLock { writer.streamTakesMore() }
            return stream
        }
        let lines = LinesStream(
            over: stream,
            begunWith: reader.buffer.readable,
            peerName: peerName,
            limits: limits
        )
        reader.buffer.consume(reader.buffer.readable.count)
        lock.withLock {
            self.stream = lines
            isInLines = true
            receiving.beginLines(limits)
            writer.streamTakesMore()
        }
        return lines
    }

    /// Acts on every whole frame in the buffer.
    private func takeFrames(from reader: FrameReader, _ turn: Int) -> TurnEnd? {
        // The link holds the control sink weakly. The sink is gone only if the link is being torn down.
        guard let control = sinks.control else { return .ended(.closed) }
        var isHandling = false
        // Mostly a later look is soon enough, and the timer that was set when the events arrived brings it.
        defer { if isHandling, strand.mustSettle.load(ordering: .relaxed) { settle() } }
        do {
            while true {
                if reader.hasRest {
                    // The other thread says what becomes of the event that it has in hand.
                    lock.withLock { receiving.isPending(reader.inHand.sequence.asWritten) }
                } else if case let events = reader.takeRun(), !events.isEmpty {
                    reader.shorten(to: try eventsArrived(events))
                }
                if reader.hasRest {
                    isHandling = true
                    // The reader keeps a third process only until its next run, which another thread may take.
                    let third = reader.runSource
                    defer { withExtendedLifetime(third) {} }
                    if let sink = sinks.events, var run = run(of: reader, turn), run.takeNext() {
                        try handle(&run, with: sink)
                    } else {
                        // Without a sink or a source the link is being torn down, and the events stay unacknowledged.
                        reader.skipRest()
                    }
                } else if let frame = try reader.next() {
                    if let end = try frameReceived(frame, by: reader, for: control, isHandling: &isHandling) {
                        return .ended(end)
                    }
                } else {
                    // The thread that had the turn before may be in a slow handler, and not have told the journal.
                    tellJournal()
                    return nil
                }
                if strand.isLost(turn) { return .handedOver }
                tellJournal()
                reader.finishFrame()
                if reader.decoder.limit != limits.frameBytes, lock.withLock({ receiving.isEstablished }) {
                    reader.decoder.limit = limits.frameBytes
                }
            }
        } catch {
            let text = String(describing: error)
            guard strand.isLost(turn) else { return .ended(violated(text)) }
            // Another thread reads by now: it handles what has arrived so far, and then reports this violation.
            let stream = lock.withLock {
                ending.breakOff(text)
                return self.stream
            }
            stream?.finishReading()
            return .handedOver
        }
    }

    /// Tells the peer at once what has been handled, if that is much or a caller waits until the link is quiet.
    private func settle() {
        let urgency = lock.withLock {
            watched(receiving.urgency(isQuietAwaited: waiters.isQuietAwaited))
        }
        act(on: urgency)
    }

    private func endOfStream(_ stream: any ByteStream, _ reader: FrameReader) -> LinkEnd {
        switch lock.withLock({ ending.cause }) {
        case .closedHere: return .closed
        case .brokenOff(let text): return violated(text)
        case nil: break
        }
        switch stream.finding {
        case .violation(let text): return violated(text)
        case .torn(let text): return .failed(text)
        case nil: break
        }
        do {
            try reader.decoder.end(with: reader.buffer.readable)
            return .endOfStream
        } catch {
            // A crash may leave a torn last frame, and the link's end says so.
            return .failed(String(describing: error))
        }
    }

    private func violated(_ text: String) -> LinkEnd {
        lock.withLock {
            // Best effort: the peer may not read any more.
            let goodbye = Goodbye(
                reason: Goodbye.Reason.violation.rawValue,
                text: text.shortened(),
                lastWritten: sending.outbox.lastWritten,
                handledMark: receiving.mark
            )
            batch.queue(.goodbye(goodbye))
        }
        pump()
        return .violation(text)
    }

    // MARK: - Frames

    /// - Parameter isHandling: becomes true if the frame carried an event.
    private func frameReceived(
        _ frame: UnsafeRawBufferPointer,
        by reader: FrameReader,
        for control: any LinkControlSink,
        isHandling: inout Bool
    ) throws -> LinkEnd? {
        let body = UnsafeRawBufferPointer(rebasing: frame[FrameDecoder.headBytes...])
        switch ControlMessage.kind(of: body) {
        case FrameKind.event.rawValue:
            isHandling = true
            try eventReceived(body, frameLength: frame.count, by: reader)
            return nil
        case FrameKind.placed.rawValue:
            isHandling = true
            try placedReceived(body, by: reader)
            return nil
        case FrameKind.gap.rawValue:
            try gapReceived(try GapFrame(decoding: body, limits: limits), frameLength: frame.count)
            return nil
        case FrameKind.acknowledge.rawValue:
            guard let (acknowledgement, incarnation) = Acknowledgement.decodePlain(body) else { break }
            try acknowledged(acknowledgement, incarnation: incarnation, at: MonotonicClock.now())
            return nil
        default: break
        }
        let decoded = try ControlMessage(decoding: body, limits: limits)
        let now = MonotonicClock.now()
        if case .acknowledge(let acknowledgement, let incarnation)? = decoded {
            try acknowledged(acknowledgement, incarnation: incarnation, at: now)
            return nil
        }
        try lock.withLock { () throws(LinkViolation) in
            try receiving.messageReceived(decoded?.kind, eventsSent: sending.outbox.lastComposed, now: now)
        }
        guard let message = decoded else { return nil }
        switch message {
        case .refuse(let refusal):
            try refused(refusal, at: now)
        case .receipt(let receipt):
            try sinks.events?.link(self, received: receipt)
        case .interest(let interest):
            try lock.withLock { () throws(LinkViolation) in
                try sending.peerWants(interest)
            }
            try control.link(self, received: message)
        case .goodbye(let goodbye):
            try control.link(self, received: message)
            return .orderly(goodbye)
        default:
            try control.link(self, received: message)
        }
        return nil
    }

    // MARK: - Events

    /// Notes the arrival of a run of events.
    ///
    /// - Returns: How many of them were taken; the caller passes the others again later.
    private func eventsArrived(_ events: UnsafeBufferPointer<ArrivedEvent>) throws(LinkViolation) -> Int {
        let (count, settled, starts, urgency) = try lock.withLock {
            () throws(LinkViolation) -> (Int, [@Sendable () -> Void]?, Bool, ReceiveWindow.Urgency) in
            // A wait for an event must not end before the events ahead of it are handled: so one event at a time.
            let isAwaited = mayOthersGoOn
            let urgency = receiving.urgency(isQuietAwaited: waiters.isQuietAwaited)
            let arriving = isAwaited ? UnsafeBufferPointer(rebasing: events[..<1]) : events
            let count = try receiving.eventsReceived(arriving)
            strand.mustSettle.store(receiving.mayBecomeUrgent || waiters.isQuietAwaited, ordering: .relaxed)
            let starts = watch.set(watching: events[0].sequence.asWritten)
            return (count, isAwaited ? settlePending() : nil, starts, urgency == .now ? .now : .none)
        }
        if starts { startWatch() }
        act(on: urgency)
        if let settled { for body in settled { body() } }
        return count
    }

    /// The events that the reader has and that are not in hand yet; nil before the handshake.
    private func run(of reader: FrameReader, _ turn: Int) -> EventRun? {
        parties.established.map { EventRun(of: reader, peer: $0.peer, own: $0.own, strand: strand, turn: turn) }
    }

    /// Hands the event in hand, and then those behind it, to the sink, and acts on what becomes of them.
    private func handle(_ run: inout EventRun, with sink: any LinkEventSink) throws {
        repeat {
            let disposition: EventDisposition
            do {
                disposition = try sink.link(self, received: &run)
            } catch {
                let isMine = run.isMine
                lock.withLock {
                    // If another thread has taken over the events behind this one, that thread handles them.
                    receiving.eventBroke(isMine ? run.sequence : receiving.lastReceived, frameBytes: run.bytesBehind)
                }
                throw error
            }
            switch disposition {
            case .handled where run.isMine: strand.eventHandled(run.sequence)
            case .handled: eventHandled(run.sequence)
            case .unwanted: eventHandled(run.sequence, wasUnwanted: true)
            case .pending: lock.withLock { receiving.isPending(run.sequence) }
            case .refused(let reason, let text): refuse(run.sequence, reason, text: text)
            }
        } while run.takeNext()
    }

    /// An event that has a head of its own has arrived: a run of one.
    ///
    /// - Parameter lender: lends the memory of the frame; the caller holds it during the call.
    private func eventReceived(
        _ body: UnsafeRawBufferPointer,
        frameLength: Int,
        by reader: FrameReader,
        lender: LentBytes? = nil
    ) throws {
        var (head, payloadOffset) = try EventFrame.decode(body, limits: limits)
        // Only a host replays events.
        if role == .host { head.isReplay = false }
        let event = ArrivedEvent(sequence: head.sequence, frameLength: frameLength)
        _ = try withUnsafePointer(to: event) { event throws(LinkViolation) in
            try eventsArrived(UnsafeBufferPointer(start: event, count: 1))
        }
        let sequence = head.sequence.asWritten
        guard let context = parties.received(head), let sink = sinks.events else {
            return lock.withLock { receiving.isPending(sequence) }
        }
        // Only a worker takes events of another process in runs: a host has to remove the settled mark of each.
        if role == .worker, head.isPlain, case .other = head.id { reader.takeRuns(of: context.id.source) }
        strand.eventArrived(sequence)
        try withUnsafePointer(to: context) { context in
            let payload = UnsafeRawBufferPointer(rebasing: body[payloadOffset...])
            var run = EventRun(
                of: head,
                sequence: sequence,
                context: context,
                payload: payload,
                lender: lender,
                strand: strand
            )
            try handle(&run, with: sink)
        }
    }

    /// An event lies in memory that the peer shares: it is copied out, and then handled like any other.
    private func placedReceived(_ body: UnsafeRawBufferPointer, by reader: FrameReader) throws {
        try lock.withLock { () throws(LinkViolation) in try receiving.placeReceived() }
        let placed = try PlacedFrame(decoding: body)
        guard let copies = peerMemory.copies else {
            throw LinkViolation("event \(placed.sequence) was placed in memory, though none is shared")
        }
        let copy = try copies.take(placed, limit: limits.frameBytes)
        let lender = copy.lend()
        try withExtendedLifetime(lender) {
            let event = try placed.check(copy.bytes, limits: limits)
            try eventReceived(event, frameLength: copy.bytes.count, by: reader, lender: lender)
        }
        if lender.misfit > 0 { copies.shift(by: lender.misfit) }
    }

    private func gapReceived(_ gap: GapFrame, frameLength: Int) throws {
        let (sequence, settled) = try lock.withLock { () throws(LinkViolation) in
            let sequence = try receiving.gapReceived(sequence: gap.sequence, frameLength: frameLength)
            return (sequence, mayOthersGoOn ? settlePending() : [])
        }
        for body in settled { body() }
        try sinks.events?.link(self, received: gap)
        let urgency = lock.withLock {
            noted(sequence, receiving.gapHandled(sequence, isQuietAwaited: waiters.isQuietAwaited))
        }
        act(on: urgency)
    }

    /// Whether an event's arrival may end a wait: of an acknowledgement that names the event, or of a caller.
    ///
    /// With the lock held.
    private var mayOthersGoOn: Bool { receiving.hasPending || !waiters.isEmpty }

    // MARK: - The end

    /// Ends the link from this side; the reading thread reports the end.
    package func close() {
        let stream = lock.withLock {
            ending.closedHere()
            peerWent.broadcast()
            return self.stream
        }
        stream?.close()
    }

    private func finishReading(_ end: LinkEnd, _ stream: any ByteStream) {
        stopWriting()
        // This cuts off no peer: by now the peer has left, or this side no longer reads what it sends.
        stream.close()
        lock.withLock { sinks.control }?.linkWasReadToEnd(self, end)
        // The handlers that wait in the strand run before any handler of the next incarnation's events.
        strand.close()
        // If the peer broke the protocol, or this side closed the link, nothing in the peer's outbox is recovered.
        if peerMemory.isToBeRecovered, let memory = stream.memory, end != .closed, !end.isViolation {
            recoverOutbox(from: memory)
        }
        let (woken, tellUnconfirmed, control) = lock.withLock {
            // For a peer that never acknowledges (`"acknowledge": "none"`), everything written counts as settled: it
            // may have reached the peer, and must not be sent again.
            wasSettled(sending.settleUnconfirmed())
            ending.ended(end)
            // The socket and the shared memory go as soon as the last writer has released them, however long the link
            // is kept.
            self.stream = nil
            reader = nil
            peerMemory.forget()
            let demanded = waiters.takeDemand()
            return (takeWoken() + (demanded.map { [$0] } ?? []), takeUnconfirmed(), sinks.control)
        }
        for body in woken { body() }
        tellUnconfirmed?()
        tellJournal()
        lock.withLock { sinks.events = nil }
        control?.linkEnded(self, end)
    }

    package func sentContext(of head: EventHead) -> EventContext { lock.withLock { sending.context(of: head) } }

    package func eventName(of head: EventHead) -> String { lock.withLock { sending.name(of: head) } }

    /// The gap that the peer announces; nil before the handshake.
    package func gap(_ frame: GapFrame, named name: String) -> Gap? {
        lock.withLock { parties }.received(frame, name: name)
    }

    /// An identity that the peer has written; nil before the handshake.
    package func eventID(of id: WireID) -> EventID? { lock.withLock { parties }.received(id) }
}
