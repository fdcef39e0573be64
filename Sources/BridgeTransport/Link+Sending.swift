import BridgeProtocol
package import DomainEvents
import Locks

/// Events on their way out: into the outbox, or why not.
extension Link {
    /// What became of an event that was offered.
    package enum Enqueued: Sendable, Hashable {
        /// It lies in the outbox under this sequence; crowded is one for a peer that is to be given no more for now.
        case accepted(sequence: UInt64, isCrowded: Bool)
        /// The link has ended; the next incarnation's takes the event.
        case ended
        /// This side has said goodbye, and the peer does not see what comes after that.
        case finished
        /// A policy has dropped it.
        case dropped
        /// Events of this name do not go to the peer any more, however lately they did: see ``Link/leave(_:)``.
        case left
        /// The outbox is at this limit, in bytes.
        case full(limit: Int)
        /// It was to be taken only if there was room below the limit where waiting begins, or nobody waited.
        case crowded
        /// The frame would be larger than the peer takes.
        case tooLarge(size: Int, limit: Int)
    }

    /// Takes no more events of these names: the peer is about to go, and others have taken its place.
    ///
    /// Whoever looked up before who gets an event, and was held up, is told so instead of coming too late.
    package func leave(_ names: LeftNames) { lock.withLock { leftNames = names } }

    /// Puts an event into the outbox; ``flush(at:isGathered:)`` then writes it.
    ///
    /// - Parameter number: by which this process knows the name; 0 if it does not.
    /// - Parameter isHeld: whether the event stays until ``release(_:at:)``, because it goes to other links as well and must lie in
    ///   all their outboxes before a byte of it is written to any: a quick peer could answer before the others have it.
    /// - Parameter isAccepted: whether a worker has accepted it for this peer: then the hard limit does not keep it out. How many
    ///   such events there are is bounded by the windows of those who send them.
    /// - Parameter reservation: the room that was kept for it here.
    /// - Parameter displaced: receives what a policy has taken out for it, or the event itself if it was dropped.
    package func enqueue(
        _ context: EventContext,
        name: String,
        number: UInt64 = 0,
        attempt: UInt64 = 1,
        isHeld: Bool = false,
        wantsReceipt: Bool = false,
        isAccepted: Bool = false,
        reservation: Reservation? = nil,
        payload: UnsafeRawBufferPointer,
        displaced: inout [Displaced]
    ) -> Enqueued {
        lock.lock()
        defer { lock.unlock() }
        if let closed { return closed }
        // Behind the goodbye no receipt comes.
        if wantsReceipt, farewell.hasLeft { return .finished }
        if let leftNames, leftNames.contains(name) { return .left }
        if !use(reservation), let problem = problem(with: payload, name: name, isAccepted: isAccepted) {
            return problem
        }
        if !limits.overflow.isPlain {
            let event = OverflowQueue.Waiting(
                name: name,
                context: context,
                attempt: attempt,
                wantsReceipt: wantsReceipt,
                payload: payload
            )
            acceptedEvents += 1
            return offer(event, isHeld: isHeld, displaced: &displaced)
        }
        // What is missing before it is said before it.
        if !queue.isEmpty { promoteGaps() }
        guard queue.isEmpty,
            append(
                context,
                name: name,
                number: number,
                attempt: attempt,
                wantsReceipt: wantsReceipt,
                payload: payload
            )
        else { return .full(limit: limits.outboxHardBytes) }
        acceptedEvents += 1
        if isHeld { gate.hold(outbox.lastSequence) }
        return .accepted(sequence: outbox.lastSequence, isCrowded: isCrowded || isBackedUp)
    }

    /// Puts an event that goes nowhere else into the outbox and has it written; only where every event waits for room.
    ///
    /// - Parameters:
    ///   - number: by which this process knows the name.
    ///   - ifThereIsRoom: whether it is not taken where waiting begins.
    package func send(
        _ context: EventContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer,
        ifThereIsRoom: Bool
    ) -> Enqueued {
        lock.lock()
        if ifThereIsRoom, !ending.hasEnded, !hasRoomNow {
            lock.unlock()
            return .crowded
        }
        if let closed {
            lock.unlock()
            return closed
        }
        if let leftNames, leftNames.contains(name) {
            lock.unlock()
            return .left
        }
        if let problem = problem(with: payload, name: name) {
            lock.unlock()
            return problem
        }
        if !queue.isEmpty { promoteGaps() }
        guard queue.isEmpty, append(context, name: name, number: number, payload: payload) else {
            lock.unlock()
            return .full(limit: limits.outboxHardBytes)
        }
        acceptedEvents += 1
        let sequence = outbox.lastSequence
        let way = wayToFlush(at: context.nanosecondsSinceEpoch)
        lock.unlock()
        flush(way)
        return .accepted(sequence: sequence, isCrowded: false)
    }

    /// Why no event is taken any more; nil as long as events are.
    ///
    /// An outbox in shared memory outlives the stream: the host reads it when this process has ended. So a worker goes on putting events
    /// there behind its goodbye, until its process ends or ``close()`` says that it has.
    ///
    /// With the lock held.
    var closed: Enqueued? {
        if ending.isClosedHere, role == .worker { return .ended }
        if farewell.hasLeft, sharedHead != nil { return nil }
        if ending.hasEnded { return .ended }
        return farewell.hasLeft ? .finished : nil
    }

    /// Whether so much waits for the peer's handlers that others' events are not taken off their hands.
    ///
    /// What its handlers are done with does not count: handlers wait for no room, so this ends however full everybody else is.
    ///
    /// With the lock held.
    var isCrowded: Bool { outbox.unhandledBytes + queue.chargedBytes >= limits.outboxBytes }

    /// Whether so much of what the peer has published cannot leave it that it is given no more to do.
    ///
    /// The peer's handlers publish without waiting for room. What they publish piles up in the peer's own outbox if its receivers are
    /// slow, so those that cause it are slowed. A peer that waits for room itself stays below this.
    ///
    /// With the lock held.
    var isBackedUp: Bool { backlogBytes >= 2 * limits.outboxBytes }

    /// What the peer has published and this side has not received, in charged bytes, as far as this side can know.
    ///
    /// Without shared memory: what the peer has handled and keeps unsettled until its own events have arrived.
    private var backlogBytes: Int {
        guard let peerOutbox else { return outbox.creditedBytes }
        // More than this many of either is too much, whatever the peer says.
        let (limit, arrived) = (UInt64(limits.outboxBytes) * 4, receiving.lastArrived)
        let events = peerOutbox.accepted.clamped(to: arrived + limit)
        if events <= arrived { return 0 }
        let received = receiving.receivedBytes
        let bytes = max(received, peerOutbox.acceptedBytes.clamped(to: received + limit))
        return Int(max((events - arrived) * UInt64(LinkLimits.minimumCharge), bytes - received))
    }

    /// Lets a held event, and those behind it, leave.
    ///
    /// - Parameter now: the time in its context.
    /// - Returns: Whether the line is busy.
    package func release(_ sequence: UInt64, at now: UInt64) -> Bool {
        lock.withLock {
            gate.release(sequence)
            queue.release(sequence)
            return writer.isBusy(at: now)
        }
    }

    /// Whether somebody has put an event in here, of a link that has ended, and not yet into all other outboxes that it goes to.
    package var isHolding: Bool { lock.withLock { gate.isHolding } }
}
