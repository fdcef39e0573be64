import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// Events on their way into the outbox of the peer's present link.
extension Peer {
    /// What happens to an event for the peer.
    private enum Taker {
        case link(Link)
        /// Events of this name go to other peers now.
        case left
        /// The peer takes no events, for this reason.
        case closed(String)
    }

    /// A worker's link to its host; nil for other peers.
    ///
    /// The link is never replaced, and the peer never closed, so a thread needs no lock and counts no reference.
    var onlyLink: Unmanaged<Link>? {
        // A pattern costs nothing; `==` would be a call into another module for each event.
        if case .worker = role, !isRenewed { .passUnretained(current) } else { nil }
    }

    /// - Parameter isLate: whether the peer takes the event even if it is leaving.
    private func taker(of name: String, isLate: Bool = false) -> Taker {
        if let onlyLink { return .link(onlyLink.takeUnretainedValue()) }
        return lock.withLock {
            // The answer is the same if the peer is down for good by now.
            if !isLate, hasLeftNow(name) { return .left }
            return closure.map { .closed($0.reason) } ?? .link(current)
        }
    }

    /// The link that takes events of this name now; nil if they go to other peers, or the peer takes none.
    func presentLink(for name: String) -> Link? { if case .link(let link) = taker(of: name) { link } else { nil } }

    /// The same link, as one of several that get an event at once.
    func joinedLink(for name: String) -> JoinedLink? {
        if let onlyLink { return onlyLink._withUnsafeGuaranteedRef { JoinedLink($0) } }
        return lock.withLock { hasLeftNow(name) || closure != nil ? nil : JoinedLink(current) }
    }

    /// The place of an event in an outbox.
    struct Place {
        let link: Link
        let sequence: UInt64
        /// Whether the event lies beyond the limit where waiting begins.
        let isCrowded: Bool
        /// The events that a policy has taken out to make room, or the new event itself if the policy dropped it.
        let evicted: [Evicted]
    }

    /// Keeps room for an event in the outbox.
    ///
    /// - Returns: The room; or a refusal if events of this name go to other peers now, or if `ifFull` says so and
    ///   waiting has begun.
    func reserve(
        for payload: UnsafeRawBufferPointer,
        name: String,
        ifFull: FullOutboxAction,
        isOneOfSeveral: Bool = false
    ) throws(DeliveryError) -> Link.Reserving {
        while true {
            let link: Link
            switch taker(of: name) {
            case .link(let present): link = present
            case .left: return .refused(.left)
            case .closed(let reason): throw unavailable(name, reason)
            }
            let kept = link.reserve(for: payload, name: name, ifFull: ifFull, isOneOfSeveral: isOneOfSeveral)
            switch kept {
            case .reserved, .refused(.crowded): return kept
            case .refused(.ended) where isRenewed: renew(after: link)
            case .refused(let problem): throw refusal(of: name, problem)
            }
        }
    }

    /// The error for an operator whose event is not sent to the peer again, because the peer is leaving.
    func leaving(_ name: String) -> DeliveryError { unavailable(name, "it is being removed") }

    func unavailable(_ name: String, _ reason: String) -> DeliveryError {
        DeliveryError(
            .workerUnavailable,
            of: name,
            at: peerName,
            "\(sentenceName) does not take \(name): \(reason)"
        )
    }

    func refusal(of name: String, _ problem: Enqueued) -> DeliveryError {
        switch problem {
        case .tooLarge(let size, let limit):
            DeliveryError(
                .eventTooLarge,
                of: name,
                at: peerName,
                "\(name) was not taken: its payload has \(size) bytes, \(peerName) takes \(limit)"
            )
        case .full(let limit):
            DeliveryError(
                .outboxFull,
                of: name,
                at: peerName,
                "\(name) was not taken: the outbox to \(peerName) is at its limit of \(limit) bytes"
            )
        case .ended, .finished, .accepted, .dropped, .crowded, .left:
            DeliveryError(
                .workerUnavailable,
                of: name,
                at: peerName,
                "\(name) was not sent: the link to \(peerName) has ended"
            )
        }
    }

    /// Puts an event into the outbox; a held event stays there until the link releases it.
    ///
    /// - Parameters:
    ///   - isOwed: whether a journal records the event, and has to hear what becomes of it here.
    ///   - isLate: whether the event is taken even if the peer is leaving: another peer that leaves with it already has
    ///     the event.
    ///   - isLetter: whether this is the event of a dead letter, on which no overflow policy acts.
    ///   - reservation: the room that was kept for the event; nil if none was.
    /// - Returns: The outcome; nil if the peer is leaving, and events of this name go to other peers now.
    func enqueue(
        _ context: EventContext,
        name: String,
        number: UInt64 = 0,
        attempt: Int = 1,
        isHeld: Bool,
        wantsReceipt: Bool = false,
        isAccepted: Bool = false,
        isOwed: Bool = false,
        isLate: Bool = false,
        isLetter: Bool = false,
        reservation: Link.Reservation? = nil,
        payload: UnsafeRawBufferPointer
    ) throws(DeliveryError) -> Place? {
        while true {
            let link: Link
            switch taker(of: name, isLate: isLate) {
            case .link(let present): link = present
            case .left:
                reservation?.cancel()
                return nil
            case .closed(let reason):
                reservation?.cancel()
                countRejected()
                throw unavailable(name, reason)
            }
            var evicted: [Evicted] = []
            let outcome =
                if isLetter {
                    link.redeliver(
                        context,
                        name: name,
                        attempt: UInt64(clamping: attempt),
                        isOwed: isOwed,
                        payload: payload
                    )
                } else {
                    link.enqueue(
                        context,
                        name: name,
                        number: number,
                        attempt: UInt64(clamping: attempt),
                        isHeld: isHeld,
                        wantsReceipt: wantsReceipt,
                        isAccepted: isAccepted,
                        isOwed: isOwed,
                        isLate: isLate,
                        reservation: reservation,
                        payload: payload,
                        evicted: &evicted
                    )
                }
            switch outcome {
            case .accepted(let sequence, let isCrowded):
                return Place(link: link, sequence: sequence, isCrowded: isCrowded, evicted: evicted)
            case .dropped:
                // The link has given the room back, and other callers may have waited for it.
                if reservation != nil { link.passTurnOn() }
                return Place(link: link, sequence: 0, isCrowded: false, evicted: evicted)
            case .ended where isRenewed: renew(after: link)
            case .left:
                reservation?.cancel()
                return nil
            default:
                if reservation != nil { link.passTurnOn() }
                countRejected()
                throw refusal(of: name, outcome)
            }
        }
    }

    /// Offers the event of a dead letter to the peer again, behind the events that wait.
    ///
    /// No overflow policy acts on the event.
    ///
    /// - Returns: The link that has taken the event; the caller lets it write.
    /// - Throws: The reason why the event is not taken.
    func redeliver(_ event: UndeliveredEvent, attempt: Int) throws(DeliveryError) -> Link {
        // `withUnsafeBytes` does not pass on the type of an error.
        let offered = event.payload.withUnsafeBytes { payload in
            Result { () throws(DeliveryError) in
                try enqueue(
                    event.context,
                    name: event.name,
                    attempt: attempt,
                    isHeld: false,
                    isOwed: event.isOwed,
                    isLetter: true,
                    payload: payload
                )
            }
        }
        guard let place = try offered.get() else { throw leaving(event.name) }
        return place.link
    }

    /// Puts an event into the outbox and writes it; only for an event that no other peer gets.
    ///
    /// An event that is not taken counts as never offered.
    ///
    /// - Parameter ifFull: with `wait` and `turn` the outbox refuses the event once waiting has begun.
    /// - Returns: The outcome; nil if the peer is leaving, and events of this name go to other peers now. With `drop`
    ///   nil means that the event was not taken: the method for several peers reports such a loss.
    func send(
        _ context: BorrowedContext,
        name: Topic,
        payload: UnsafeRawBufferPointer,
        ifFull: FullOutboxAction
    ) -> Forwarded? {
        while true {
            switch taker(of: name.name) {
            case .left: return nil
            case .closed(let reason): return ifFull == .drop ? nil : .failed(unavailable(name.name, reason))
            case .link(let link):
                let outcome = link.send(
                    context,
                    name: name.name,
                    number: name.number,
                    payload: payload,
                    ifFull: ifFull
                )
                if isRenewed, case .ended = outcome {
                    renew(after: link)
                } else {
                    return forwarded(outcome, name.name, ifFull)
                }
            }
        }
    }

    /// Puts the events of a run into the outbox, as long as none needs to wait for room, and writes them together; only
    /// for events that no other peer gets.
    ///
    /// - Returns: Whether the outbox has all events of the run; if not, it has those before the one in hand.
    func pass(_ run: inout EventRun, of topic: Topic) -> Bool {
        guard let link = presentLink(for: topic.name) else { return false }
        return link.pass(&run, name: topic.name, number: topic.number)
    }

    /// Holds an event in the outbox until it is recorded, then writes it; only for an event that no other peer gets.
    ///
    /// - Parameters:
    ///   - ifFull: as in ``send(_:name:payload:ifFull:)``.
    ///   - isOwed: whether a journal has to hear what becomes of the event here.
    /// - Returns: The outcome; nil if the event was not taken: the general way says why, or finds other peers.
    func sendRecorded(
        _ context: BorrowedContext,
        name: Topic,
        payload: UnsafeRawBufferPointer,
        ifFull: FullOutboxAction,
        isOwed: Bool,
        record: () -> Void
    ) -> Forwarded? {
        while case .link(let link) = taker(of: name.name) {
            let outcome = link.hold(
                context,
                name: name.name,
                number: name.number,
                payload: payload,
                ifFull: ifFull,
                isOwed: isOwed
            )
            switch outcome {
            case .accepted(let sequence, _):
                record()
                link.releaseAndFlush(sequence, at: context.nanosecondsSinceEpoch)
                return .taken
            case .crowded: return .awaitsRoom
            case .ended where isRenewed: renew(after: link)
            default: return nil
            }
        }
        return nil
    }

    /// Tells the peer, or its next incarnation, of a gap.
    func note(_ gap: Gap) {
        while true {
            let link = self.link
            if link.note(gap) || !isRenewed || !link.hasEnded { return }
            renew(after: link)
        }
    }

    /// What became of an event that was put into an outbox for this peer alone; nil as for
    /// ``send(_:name:payload:ifFull:)``.
    func forwarded(_ outcome: Enqueued, _ name: String, _ ifFull: FullOutboxAction) -> Forwarded? {
        switch outcome {
        case .accepted: .taken
        case .crowded: .awaitsRoom
        case .left: nil
        default: ifFull == .drop ? nil : .failed(refusal(of: name, outcome))
        }
    }

    private func countRejected() {
        lock.withLock { counts.rejected += 1 }
    }
}
