import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents

/// An event of the name on its way into several outboxes.
extension Topic {
    /// The outcome of an event at the peers that want it.
    struct Sent {
        /// The peers that did not take the event, and why.
        var losses: [Loss] = []
        /// The peers that took the event beyond the limit where waiting begins.
        var crowded: [Peer] = []
        /// The peers that took the event, if they were asked for receipts; otherwise empty.
        var reached: [String] = []
        /// Whether no peer wanted the event.
        var isUnwanted = true
    }

    struct Loss {
        let peer: Peer
        let id: EventID
        let error: DeliveryError
        /// The event; nil if it does not have to become a dead letter.
        let event: UndeliveredEvent?

        var peerName: String { peer.peerName }
    }

    /// Puts an event into the outboxes of all peers that want it; if one of them keeps no room for it, none gets it.
    ///
    /// - Parameters:
    ///   - ifFull: not `drop`; with `wait` and `turn` no peer gets the event if waiting has begun at one of them.
    ///   - held: as in ``EventForwarder``.
    /// - Returns: `taken`; or why no peer has got the event. If a publisher waits for receipts, the failure may instead
    ///   say why one peer did not take the event, which others may have got.
    func sendToAll(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        receipts: ReceiptLedger?,
        to targets: [Peer],
        attached: [Peer],
        ifFull: FullOutboxAction = .fail,
        held: inout HeldEvents?,
        by router: EventRouter
    ) -> Forwarded {
        if receipts == nil, held == nil, let alone = Fanout.sole(among: targets, attached) {
            let sent = context.withBorrowed {
                alone.send($0, name: self, payload: payload, ifFull: ifFull)
            }
            if let sent { return sent }
            return sendToThoseWhoStay(
                payload,
                context,
                receipts,
                attached: attached,
                ifFull: ifFull,
                held: &held,
                by: router
            )
        }
        var departure = Departure(
            of: name,
            context,
            at: context.nanosecondsSinceEpoch,
            by: router,
            to: targets,
            attached,
            isHeld: held != nil
        )
        let kept: Reserved
        do throws(DeliveryError) {
            let isOneOfSeveral = targets.count > 1 || held?.keepsRoomFirst == true
            kept = try reserve(
                for: payload,
                at: targets,
                ifFull: ifFull,
                isOneOfSeveral: isOneOfSeveral,
                in: &departure
            )
        } catch {
            return .failed(error)
        }
        switch kept {
        case .everywhere: break
        case .awaitsRoom: return .awaitsRoom
        case .targetLeft:
            return sendToThoseWhoStay(
                payload,
                context,
                receipts,
                attached: attached,
                ifFull: ifFull,
                held: &held,
                by: router
            )
        }
        guard held?.keepsRoomFirst == true else {
            return enter(payload, context, receipts, to: targets, attached, in: &departure, &held, by: router)
        }
        let room = KeptRoom { [departure, payload = Array(payload)] held in
            var departure = departure
            return payload.withUnsafeBytes {
                self.enter($0, context, receipts, to: targets, attached, in: &departure, &held, by: router)
            }
        } giveBack: { [departure] in
            var departure = departure
            departure.cancel()
        }
        held?.keep(room)
        return .taken
    }

    /// Puts an event into the outboxes in which room is kept for it, and into those of attached peers.
    private func enter(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ receipts: ReceiptLedger?,
        to targets: [Peer],
        _ attached: [Peer],
        in departure: inout Departure,
        _ held: inout HeldEvents?,
        by router: EventRouter
    ) -> Forwarded {
        if let receipts, !targets.isEmpty { router.receipts.add(receipts) }
        let sent = send(
            payload,
            context: context,
            except: nil,
            wantsReceipt: receipts != nil,
            to: targets,
            attached: attached,
            receipts: receipts,
            as: &departure,
            held: &held,
            by: router
        )
        guard let receipts else { return .taken }
        for name in sent.reached { receipts.expect(router.receipts.process(name)) }
        return sent.losses.first.map { .failed($0.error) } ?? .taken
    }

    /// Works out the targets anew, and sends the event again, after a target has left during the first attempt.
    private func sendToThoseWhoStay(
        _ payload: UnsafeRawBufferPointer,
        _ context: EventContext,
        _ receipts: ReceiptLedger?,
        attached: [Peer],
        ifFull: FullOutboxAction,
        held: inout HeldEvents?,
        by router: EventRouter
    ) -> Forwarded {
        sendToAll(
            payload,
            context: context,
            receipts: receipts,
            to: fanout.targets(of: payload, except: nil).filter { !$0.hasLeft(name) },
            attached: attached,
            ifFull: ifFull,
            held: &held,
            by: router
        )
    }

    /// The outcome of reserving room for an event.
    private enum Reserved {
        case everywhere
        /// No room was kept: waiting has begun at one target, and the caller can wait.
        case awaitsRoom
        /// No room was kept: events of this name no longer go to one of the targets.
        case targetLeft
    }

    /// Reserves room at all targets, or at none.
    private func reserve(
        for payload: UnsafeRawBufferPointer,
        at targets: [Peer],
        ifFull: FullOutboxAction,
        isOneOfSeveral: Bool,
        in departure: inout Departure
    ) throws(DeliveryError) -> Reserved {
        defer { if departure.count < targets.count { departure.cancel() } }
        for target in targets {
            switch try target.reserve(for: payload, name: name, ifFull: ifFull, isOneOfSeveral: isOneOfSeveral) {
            case .reserved(let room): departure.add(room)
            case .refused(.left): return .targetLeft
            case .refused: return .awaitsRoom
            }
        }
        return .everywhere
    }

    /// Puts an event into every outbox, and then writes it if it is not held, so that no peer sees an effect before its
    /// cause.
    ///
    /// - Parameters:
    ///   - origin: the peer that sent the event; it does not get its own events back.
    ///   - attached: the attached peers that also get the event, as far as they keep up.
    ///   - receipts: the ledger of a publisher that waits, which gets the first loss as its error; nil if no publisher
    ///     waits. The other losses are announced. A loss that becomes a dead letter is neither announced nor given to
    ///     the ledger.
    ///   - held: as in ``EventForwarder``.
    func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Peer? = nil,
        wantsReceipt: Bool,
        to targets: [Peer],
        attached: [Peer],
        receipts: ReceiptLedger? = nil,
        held: inout HeldEvents?,
        by router: EventRouter
    ) -> Sent {
        var departure = Departure(
            of: name,
            context,
            // An event that another process has published may be old.
            at: origin == nil ? context.nanosecondsSinceEpoch : WallClock.now(),
            by: router,
            to: targets,
            attached,
            isHeld: held != nil
        )
        return send(
            payload,
            context: context,
            except: origin,
            wantsReceipt: wantsReceipt,
            to: targets,
            attached: attached,
            receipts: receipts,
            as: &departure,
            held: &held,
            by: router
        )
    }

    /// Does what the method above does, with an event for which room may be kept.
    ///
    /// - Parameter departure: has the room that was kept at each target; has no places if no room was kept.
    private func send(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        except origin: Peer?,
        wantsReceipt: Bool,
        to targets: [Peer],
        attached: [Peer],
        receipts: ReceiptLedger?,
        as departure: inout Departure,
        held: inout HeldEvents?,
        by router: EventRouter
    ) -> Sent {
        let isRecorded = held?.areRecorded == true && router.keepsCustody
        // If one peer is the only receiver, no other receiver could see an effect of the event before the event.
        let isHeld = held != nil || targets.count + attached.count > 1
        let reserved = departure.count
        var sent = Sent()
        var left: [Peer] = []
        func enqueue(at target: Peer, isHeld: Bool, isLate: Bool = false, _ reservation: Link.Reservation?) {
            sent.isUnwanted = false
            do throws(DeliveryError) {
                let place = try target.enqueue(
                    context,
                    name: name,
                    number: number,
                    isHeld: isHeld,
                    wantsReceipt: wantsReceipt,
                    // Windows bound what workers send, so the hard limit need not. An attached peer may come back any
                    // number of times, each time with a new window.
                    // A late event has lost the room that was reserved for it here.
                    isAccepted: isLate || (origin.map { !$0.isAttached } ?? false),
                    isOwed: isRecorded,
                    isLate: isLate,
                    reservation: reservation,
                    payload: payload
                )
                guard let place else { return left.append(target) }
                if wantsReceipt, let origin { router.recoveryGate.wasAsked(target, by: origin) }
                if isRecorded { departure.owed.append(target.owed(name)) }
                for event in place.evicted { departure.evicted.append((target, event)) }
                if place.isCrowded { sent.crowded.append(target) }
                if wantsReceipt {
                    sent.reached.append(target.peerName)
                    // If the peer was closed just now, its closing may not have seen this event, so the wait ends here.
                    if let reason = target.closedReason {
                        let unavailable = router.unavailability(of: target, reason)
                        router.tell(context.id, .unavailable, at: target, because: unavailable)
                    }
                }
                if isHeld {
                    departure.add(place)
                } else {
                    place.link.flush(at: departure.nanosecondsSinceEpoch)
                }
            } catch {
                let event = router.undeliverable(
                    payload,
                    name: name,
                    context: context,
                    isOwed: isRecorded,
                    for: target,
                    because: error
                )
                if isRecorded, event != nil { departure.owed.append(target.owed(name)) }
                sent.losses.append(Loss(peer: target, id: context.id, error: error, event: event))
            }
        }
        var first = 0
        if isHeld, !wantsReceipt, origin == nil {
            first = departure.hold(context, number: number, payload, at: targets, isOwed: isRecorded)
            if first > 0 { sent.isUnwanted = false }
        }
        for index in first..<targets.count where targets[index] !== origin {
            enqueue(at: targets[index], isHeld: isHeld, index < reserved ? departure.room(at: index) : nil)
        }
        var asked = left.isEmpty ? [] : targets
        var answered = 0
        while answered < left.count {
            // Several peers leave in one step, but their links close one after the other. One of them may have got the
            // event just before. Then the others get it too, and their successors do not.
            let takers = asked.filter { one in
                one !== origin && !left.contains { $0 === one } && !sent.losses.contains { $0.peer === one }
            }
            if router.hasLeft(name, oneOf: takers) {
                for target in left[answered...] { enqueue(at: target, isHeld: true, isLate: true, nil) }
                break
            }
            answered = left.count
            // Other peers have replaced a target since the targets were chosen. If a member of a pool was among the
            // targets, the pool has the event already.
            let others = fanout.targets(of: payload, except: origin).filter { other in
                other !== origin && !asked.contains { $0 === other || $0.pool != nil && $0.pool === other.pool }
            }
            asked += others
            for target in others { enqueue(at: target, isHeld: true, nil) }
        }
        for receiver in attached where receiver !== origin {
            sent.isUnwanted = false
            let place = receiver.offer(context, name: name, number: number, isHeld: isHeld, payload: payload)
            guard let place else { continue }
            if isHeld { departure.add(place) } else { place.link.flush(at: departure.nanosecondsSinceEpoch) }
        }
        departure.losses = sent.losses
        departure.receipts = receipts
        if held == nil {
            departure.leave()
        } else {
            held?.append(departure)
        }
        return sent
    }
}
