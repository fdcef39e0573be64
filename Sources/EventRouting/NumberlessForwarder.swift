import BridgeProtocol
import DomainEvents

/// Takes the place of a ``TopicForwarder`` for a name that has no number, because all numbers are given out: peers do
/// not get its events, and learn that they miss them.
///
/// If a worker wants the event, `publish` drops it, and every other call throws an error that says why. The forwarder
/// owns the router, as a ``TopicForwarder`` does.
final class NumberlessForwarder: EventForwarder {
    private let name: String
    private let router: EventRouter

    init(_ name: String, of router: EventRouter) {
        (self.name, self.router) = (name, router)
    }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        let missing = router.peersWanting(name)
        let workers = missing.filter { !$0.isAttached }
        let error = EventRouter.tooManyNames(for: name)
        // A caller that gets the error still has the event.
        if !workers.isEmpty, ifFull != .drop { return .failed(error) }
        let gap = Gap(context.id, name: name, reason: .full)
        let tellClients = { for peer in missing where peer.isAttached { peer.note(gap) } }
        if held?.keepsRoomFirst == true, workers.isEmpty {
            let room = KeptRoom { _ in
                tellClients()
                return .taken
            } giveBack: {
            }
            held?.keep(room)
            return .taken
        }
        tellClients()
        for peer in workers {
            router.announce(Topic.Loss(peer: peer, id: context.id, error: error, event: nil), of: name)
        }
        return workers.isEmpty ? .taken : .failed(error)
    }

    var hasRoom: Bool { true }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {}

    var isWantedElsewhere: Bool { false }
}
