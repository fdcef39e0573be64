import BridgePlatform
package import BridgeProtocol
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

    /// Reads and handles until the link has ended; after a hand-off, works off the strand and waits for the next turn.
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
            frameProgress.store(reader.frameProgress(since: arrived, at: now), ordering: .relaxed)
            lastRead.store(now, ordering: .relaxed)
            let outcome = stream.read(into: reader.buffer.writable)
            lastRead.store(0, ordering: .relaxed)
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
        var events: (any LinkEventSink)?
        var run = EventRun()
        defer { settle(&run) }
        do {
            while let frame = try reader.next() {
                if let end = try frameReceived(frame, for: control, &events, in: &run) { return .ended(end) }
                if strand.isLost(turn) { return .handedOver }
                reader.finishFrame()
                if reader.decoder.limit != limits.frameBytes, lock.withLock({ receiving.isEstablished }) {
                    reader.decoder.limit = limits.frameBytes
                }
            }
            return nil
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

    /// Notes what has been handled, without waiting for the next event: it may be a while before one arrives.
    private func settle(_ run: inout EventRun) {
        guard run.handled != 0 else { return }
        eventHandled(run.handled, wasUnwanted: run.wasUnwanted)
        run.wasNoted()
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

    private func frameReceived(
        _ frame: UnsafeRawBufferPointer,
        for control: any LinkControlSink,
        _ events: inout (any LinkEventSink)?,
        in run: inout EventRun
    ) throws -> LinkEnd? {
        let body = UnsafeRawBufferPointer(rebasing: frame[FrameDecoder.headBytes...])
        if ControlMessage.kind(of: body) == FrameKind.event.rawValue {
            // Looked up only now, because a handshake frame just before this event may have set the sink.
            if events == nil { events = sinks.events }
            try eventReceived(body, frameLength: frame.count, for: events, in: &run)
            return nil
        }
        if ControlMessage.kind(of: body) == FrameKind.placed.rawValue {
            try placedReceived(body, for: sinks.events, in: &run)
            return nil
        }
        // What a control message asks for may depend on which events are handled, so those are noted first.
        settle(&run)
        run.letGo()
        if ControlMessage.kind(of: body) == FrameKind.gap.rawValue {
            try gapReceived(try GapFrame(decoding: body, limits: limits), frameLength: frame.count)
            return nil
        }
        let decoded = try ControlMessage(decoding: body, limits: limits)
        let now = MonotonicClock.now()
        try lock.withLock { () throws(LinkViolation) in
            try receiving.messageReceived(decoded?.kind, eventsSent: sending.outbox.lastComposed, now: now)
        }
        guard let message = decoded else { return nil }
        switch message {
        case .acknowledge(let acknowledgement, let incarnation):
            try acknowledged(acknowledgement, incarnation: incarnation, at: now)
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

    func eventReceived(
        _ body: UnsafeRawBufferPointer,
        frameLength: Int,
        for events: (any LinkEventSink)?,
        in run: inout EventRun
    ) throws {
        let (head, payloadOffset) = try EventFrame.decode(body, limits: limits)
        let (sequence, settled, starts, urgency) = try lock.withLock {
            () throws(LinkViolation) -> (UInt64, [@Sendable () -> Void]?, Bool, ReceiveWindow.Urgency) in
            let sequence = try receiving.eventReceived(sequence: head.sequence, frameLength: frameLength)
            let starts = watch.set(watching: sequence)
            var urgency = ReceiveWindow.Urgency.none
            if run.handled != 0 {
                urgency = note(handled: run.handled, wasUnwanted: run.wasUnwanted)
                run.wasNoted()
            }
            return (sequence, mayOthersGoOn ? settlePending() : nil, starts, urgency)
        }
        if starts { startWatch() }
        act(on: urgency)
        if let settled { for body in settled { body() } }
        let payload = UnsafeRawBufferPointer(rebasing: body[payloadOffset...])
        strand.eventArrived(sequence)
        let disposition: EventDisposition
        do {
            // Without a sink the link is being torn down, and the event stays unacknowledged.
            disposition = try events?.link(self, received: head, payload: payload, in: &run) ?? .pending
        } catch {
            lock.withLock { receiving.eventBroke() }
            throw error
        }
        switch disposition {
        case .handled: run.wasHandled(sequence)
        case .unwanted: run.wasHandled(sequence, wasUnwanted: true)
        case .pending: return
        case .refused(let reason, let text): refuse(sequence, reason, text: text)
        }
    }

    /// An event lies in memory that the peer shares: it is copied out, and then handled like any other.
    func placedReceived(
        _ body: UnsafeRawBufferPointer,
        for events: (any LinkEventSink)?,
        in run: inout EventRun
    ) throws {
        try lock.withLock { () throws(LinkViolation) in try receiving.placeReceived() }
        let placed = try PlacedFrame(decoding: body)
        guard let copies = peerMemory.copies else {
            throw LinkViolation("event \(placed.sequence) was placed in memory, though none is shared")
        }
        let copy = try copies.take(placed, limit: limits.frameBytes)
        try withExtendedLifetime(copy) {
            let event = try placed.check(copy.bytes, limits: limits)
            try eventReceived(event, frameLength: copy.bytes.count, for: events, in: &run)
        }
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

    /// Whether an acknowledgement from the peer waits for one of the peer's events, or a caller waits for something;
    /// the event that has just arrived may end the wait.
    ///
    /// With the lock held.
    private var mayOthersGoOn: Bool { receiving.hasPending || !waiters.isEmpty }

    // MARK: - The end

    /// Ends the link from this side; the reading thread reports it.
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
        // The events that have arrived are handled before any event of the next incarnation.
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
            defer { sinks.events = nil }
            return (takeWoken() + (demanded.map { [$0] } ?? []), takeUnconfirmed(), sinks.control)
        }
        for body in woken { body() }
        tellUnconfirmed?()
        control?.linkEnded(self, end)
    }

    /// The identity and causes of an event that the peer sent.
    ///
    /// Only on the reading thread: it alone sets `parties`, so here it reads them without the lock.
    ///
    /// - Parameter peer: ``peerSource``.
    package func context(of head: EventHead, from peer: consuming EventSource) -> EventContext {
        if let number = head.plainNumber { return head.plainContext(number, from: peer) }
        return head.context(from: peer, to: parties.own)
    }

    /// The source of the peer's events; nil before the handshake.
    ///
    /// Only on the thread that reads.
    package var peerSource: EventSource? { parties.peer }

    package func sentContext(of head: EventHead) -> EventContext { lock.withLock { sending.context(of: head) } }

    package func eventName(of head: EventHead) -> String { lock.withLock { sending.name(of: head) } }

    /// The gap that the peer announces; nil before the handshake.
    package func gap(_ frame: GapFrame, named name: String) -> Gap? {
        lock.withLock { parties }.received(frame, name: name)
    }

    /// An identity that the peer has written; nil before the handshake.
    package func eventID(of id: WireID) -> EventID? { lock.withLock { parties }.received(id) }
}
