import DomainEvents

/// Carries the events of one name from the publisher to its router.
///
/// The publisher holds the forwarder as long as the name is forwarded, and a publishing thread holds the forwarder
/// until its event is published. The forwarder owns the router, and the router does not own the forwarder. So a delayed
/// publishing thread still finds the router, even if the bridge is gone. A router that stops takes its forwarders out
/// of the publisher, and is released when the last publishing thread is done.
final class TopicForwarder: EventForwarder {
    private let topic: Topic
    /// The receivers of the events; if they change, the publisher gets another forwarder.
    private let fanout: Fanout
    private let router: EventRouter

    init(_ topic: Topic, to fanout: Fanout, of router: EventRouter) {
        self.topic = topic
        self.fanout = fanout
        self.router = router
    }

    func forward<E: DomainEvent>(
        _ event: E,
        context: EventContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout [any HeldEvent]?
    ) -> Forwarded {
        topic.forward(
            event,
            to: fanout,
            context: context,
            ifFull: ifFull,
            receipts: receipts,
            held: &held,
            by: router
        )
    }

    var hasRoom: Bool { topic.hasRoom }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        do {
            try await topic.waitForRoom(for: event)
        } catch let failure as DeliveryError {
            // The workers stop because the bridge stops, so the end of the bridge is the reason.
            throw router.refusalOfWaiting(topic.name) ?? failure
        }
    }

    var isWantedElsewhere: Bool { fanout.isWanted }

    var untyped: any EventForwarder { UntypedForwarder(topic, to: fanout, of: router) }
}
