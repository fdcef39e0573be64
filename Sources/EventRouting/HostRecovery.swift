import BridgeProtocol
import BridgeTransport
package import DomainEvents
import Locks

/// Restores what earlier hosts owed to workers, from what the publisher's journal has kept.
package struct HostRecovery {
    private let router: EventRouter
    private let peers: [String: Peer]
    /// The members of each pool.
    private let members: [String: [Peer]]
    /// The events that no receiver takes any more; ``complete()`` makes dead letters of them.
    private var given: [GivenUp] = []

    private struct GivenUp {
        let receiver: String
        let event: UndeliveredEvent
        let cause: EventDeadLettered.Cause
        let reasons: [String]
    }

    /// - Parameter peers: the workers, which the router does not know yet.
    package init(by router: EventRouter, for peers: [Peer]) {
        self.router = router
        self.peers = Dictionary(peers.map { ($0.peerName, $0) }) { first, _ in first }
        members = Dictionary(grouping: peers.filter { $0.pool != nil }) { $0.pool?.name ?? "" }
    }

    /// Puts the events that earlier hosts owed into the outboxes, in the journal's order, and restores dead letters.
    ///
    /// Call this before the router knows the workers, so that no newer event can overtake these.
    ///
    /// - Returns: Whether earlier hosts owed any event; if so, ``complete()`` has to follow.
    package mutating func restore(_ owed: [OwedEvent]) -> Bool {
        guard !owed.isEmpty, let deadLetters = router.deadLetters else { return false }
        // All events of a source share one object, because outboxes compare sources by their addresses.
        var sources: [EventSource: EventSource] = [:]
        var pools: [SharedName: PooledTargets?] = [:]
        var letters: [DeadLetterRecord] = []
        for event in owed {
            let known = sources[event.context.id.source]
            let source = known ?? EventSource(restored: event.context.id.source)
            if known == nil { sources[source] = source }
            let context = EventContext(
                id: EventID(source: source, number: event.context.id.number),
                nanosecondsSinceEpoch: event.context.nanosecondsSinceEpoch,
                cause: event.context.cause,
                root: event.context.root,
                traceparent: event.context.traceparent
            )
            if let letter = event.letter {
                letters.append(DeadLetterRecord(letter, of: event, context))
                continue
            }
            let target = target(of: event, &pools)
            let plan = RecoveryPlan(
                of: event.name,
                owedTo: event.receiver.name,
                wasSpecified: event.receiver.isSpecified,
                attempts: event.attempts,
                strikes: event.strikes,
                receiver: target.map { peer in
                    RecoveryPlan.Receiver(
                        isSpecified: peer.isSpecified(event.name, isSelfReport: false),
                        strikeLimit: peer.strikeLimit,
                        refusal: event.payload.withUnsafeBytes { peer.refusal(of: event.name, $0) }
                    )
                }
            )
            switch plan {
            case .deliver(let attempt):
                let number = router.named(event.name)?.number ?? 0
                event.payload.withUnsafeBytes { payload in
                    target?.link.restore(
                        context,
                        name: event.name,
                        number: number,
                        attempt: attempt,
                        strikes: event.strikes,
                        payload: payload
                    )
                }
            case .letter(let cause, let reasons):
                let undelivered = UndeliveredEvent(
                    name: event.name,
                    context: context,
                    attempts: event.attempts,
                    strikes: event.strikes,
                    isOwed: true,
                    payload: event.payload
                )
                let receiver = target?.peerName ?? event.receiver.name
                given.append(GivenUp(receiver: receiver, event: undelivered, cause: cause, reasons: reasons))
            }
        }
        deadLetters.restore(letters)
        return true
    }

    /// Makes dead letters of the events that no receiver takes any more, even beyond the bounds, and notes in the
    /// journal that this host delivers the others.
    ///
    /// Call this once the router forwards events, so that workers, too, learn of the letters. If the host's start fails
    /// before that, the journal counts no attempt.
    package func complete() {
        for letter in given {
            _ = router.deadLetters?.addIfRoom(
                letter.event,
                for: peers[letter.receiver]?.noted ?? NotedReceiver(name: letter.receiver),
                cause: letter.cause,
                reasons: letter.reasons,
                isKept: true
            )
        }
        let publisher = router.publisher
        publisher.recording.note(.hostStarted(incarnation: publisher.source.incarnation))
    }

    /// An event's name, and the pool whose members share the events of that name.
    private struct SharedName: Hashable {
        let event: String
        let pool: String
    }

    /// The worker that now gets an event that was owed to a worker or a pool; nil if there is none.
    ///
    /// A pool may have another size by now, so the event's key chooses its member anew.
    ///
    /// - Parameter pools: how pools share the events restored so far; this call may add an entry.
    private func target(of event: OwedEvent, _ pools: inout [SharedName: PooledTargets?]) -> Peer? {
        if let peer = peers[event.receiver.name] { return peer }
        guard let members = members[event.receiver.name] else { return nil }
        let name = SharedName(event: event.name, pool: event.receiver.name)
        let pooled =
            pools[name]
            ?? PooledTargets(
                members,
                among: members,
                name: event.name,
                isSelfReport: false,
                reports: router.reports
            )
        pools[name] = .some(pooled)
        return event.payload.withUnsafeBytes { pooled?.targets(of: $0).first } ?? members.first
    }
}

extension Peer {
    /// The peer as a journal notes it.
    var noted: NotedReceiver { NotedReceiver(name: peerName, pool: pool?.name) }

    /// The receiver that an event of this name is owed to: the pool that shares the event, otherwise the peer.
    func owed(_ name: String) -> OwedReceiver {
        OwedReceiver(
            name: pool(sharing: name, isSelfReport: false)?.name ?? peerName,
            isSpecified: isSpecified(name, isSelfReport: false)
        )
    }

    /// After how many strikes an event becomes a dead letter; nil for never.
    fileprivate var strikeLimit: Int? { lock.withLock { ledger.strikeLimit } }

    /// Why the peer does not take an event of this name and payload, however much room there is; nil if it takes it.
    fileprivate func refusal(of name: String, _ payload: UnsafeRawBufferPointer) -> String? {
        do throws(DeliveryError) {
            if case .reserved(let room) = try reserve(for: payload, name: name, ifFull: .fail) { room.cancel() }
            return nil
        } catch {
            // Room comes again, but a payload becomes no smaller.
            return error.code == .eventTooLarge ? error.description : nil
        }
    }
}

extension DeadLetterRecord {
    /// A letter of an earlier host.
    fileprivate init(_ letter: NotedLetter, of event: OwedEvent, _ context: EventContext) {
        self.init(
            number: letter.number,
            notedReceiver: letter.receiver,
            event: UndeliveredEvent(
                name: event.name,
                context: context,
                attempts: letter.attempts,
                strikes: Array(letter.reasons.prefix(letter.strikes)),
                isOwed: true,
                payload: event.payload
            ),
            cause: letter.cause,
            reasons: letter.reasons,
            nanosecondsSinceEpoch: letter.nanosecondsSinceEpoch
        )
    }
}
