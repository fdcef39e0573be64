import BridgeTransport
import DomainEvents

/// The receivers of the events of one name, as one immutable value; a change puts another value in its place.
final class Fanout: Sendable {
    /// All peers that want the events, or a share of them, without attached peers.
    let targets: [Peer]
    /// The attached peers that want the events; nothing waits for them.
    let attached: [Peer]
    /// Chooses which of ``targets`` get an event; nil if all do.
    let pooled: PooledTargets?
    let receiver: (any EventReceiver)?
    /// The only target, if an event needs nothing more than to be put into its outbox and written; nil otherwise.
    ///
    /// ``targets`` hold the peer, so the reference is not counted.
    let sole: Unmanaged<Peer>?
    /// The link of ``sole``, if it is never replaced; nil otherwise.
    ///
    /// The peer holds it, so this reference is not counted either.
    let soleLink: Unmanaged<Link>?
    /// The targets, if an event goes to several at once: it only has to be put into their outboxes and written.
    ///
    /// Otherwise empty. As for ``sole``, the references are not counted.
    let joined: [Unmanaged<Peer>]
    /// The only target as the receiver that an event is owed to; empty if there are more targets, none, or a pool.
    let soleOwed: [OwedReceiver]

    /// - Parameter soleOwed: made without the topic's lock, as it asks the peer.
    init(
        targets: [Peer],
        attached: [Peer],
        pooled: PooledTargets?,
        receiver: (any EventReceiver)?,
        soleOwed: [OwedReceiver]
    ) {
        self.targets = targets
        self.attached = attached
        self.pooled = pooled
        self.receiver = receiver
        self.soleOwed = soleOwed
        sole = pooled == nil ? Self.sole(among: targets, attached).map { .passUnretained($0) } : nil
        soleLink = sole?._withUnsafeGuaranteedRef { $0.onlyLink }
        let areJoined =
            pooled == nil && attached.isEmpty && (2...JoinedLink.most).contains(targets.count)
            && !targets.contains(where: \.hasPolicies)
        joined = areJoined ? targets.map { .passUnretained($0) } : []
    }

    /// The only peer that gets an event, if the event needs nothing more than to be put into its outbox and written.
    static func sole(among targets: [Peer], _ attached: [Peer]) -> Peer? {
        guard targets.count == 1, attached.isEmpty, !targets[0].hasPolicies else { return nil }
        return targets[0]
    }

    var address: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    /// Whether any peer wants the events.
    var isWanted: Bool { !targets.isEmpty || !attached.isEmpty }

    /// Whether this peer wants the events, or a share of them.
    func goes(to peer: Peer) -> Bool {
        targets.contains { $0 === peer } || attached.contains { $0 === peer }
    }

    /// Whether a peer other than this one wants the events.
    func isWanted(otherThan peer: Peer) -> Bool {
        (pooled?.isWanted(otherThan: peer) ?? targets.contains { $0 !== peer })
            || attached.contains { $0 !== peer }
    }

    /// The peers that get an event; the caller leaves out `origin`, the peer that it came from (nil: this process).
    func targets(of payload: UnsafeRawBufferPointer, except origin: Peer?) -> [Peer] {
        pooled?.targets(of: payload, except: origin) ?? targets
    }

    /// Hands an event to the subscribers of this process, and calls `passOn` as ``EventReceiver`` says.
    func deliverHere(
        _ payload: UnsafeRawBufferPointer,
        context: EventContext,
        strand: (any InlineStrand)?,
        passOn: (_ held: inout HeldEvents?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> LocalOutcome {
        if let receiver {
            return receiver.deliver(
                payload,
                context: context,
                strand: strand,
                passOn: passOn,
                completion: completion
            )
        }
        var atOnce: HeldEvents?
        _ = passOn(&atOnce)
        return .unwanted
    }
}
