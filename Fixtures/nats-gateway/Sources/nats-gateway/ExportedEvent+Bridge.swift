import DomainEvents
import NATSGateway

/// An event of the host as the gateway exports it.
extension ExportedEvent {
    /// - Parameters:
    ///   - delivery: the event from the host, which is settled when the broker has stored it or never will.
    ///   - node: the node that exports.
    ///   - crossings: how many times the event's chain of causes has crossed, this crossing included.
    init(_ delivery: UnsettledDelivery<UntypedEvent>, from node: Node, crossings: Int) {
        let context = delivery.context
        let id = context.id.description
        self.init(
            id: id,
            payload: delivery.event.payload,
            isRepeat: context.attempt > 1,
            isReplay: context.isReplay
        ) {
            EventHeaders(of: delivery, id: id, from: node, crossings: crossings)
        } settle: { refusal in
            if let refusal { delivery.refuse(NeverStored(description: refusal)) } else { delivery.acknowledge() }
        }
    }
}

extension EventHeaders {
    /// - Parameter id: the event's identity, as ``EventID/description`` writes it.
    fileprivate init(
        of delivery: UnsettledDelivery<UntypedEvent>,
        id: String,
        from node: Node,
        crossings: Int
    ) {
        let context = delivery.context
        self.init(
            id: id,
            source: context.id.origin,
            name: delivery.event.name,
            time: EventTime.text(of: context.nanosecondsSinceEpoch),
            cause: context.cause?.description,
            root: context.root == context.id || context.root == context.cause ? nil : context.root.description,
            traceparent: context.traceparent?.description,
            path: [node],
            crossings: crossings,
            attempt: context.attempt
        )
    }
}

/// Why an event does not leave this node.
struct NeverStored: Error, CustomStringConvertible {
    let description: String
}
