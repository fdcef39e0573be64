import DomainEvents
import NATSGateway

/// An event of another node as the host gets it: with the identity from that node, and the node's name in front of the
/// process's name.
extension NATSGateway.ImportedEvent {
    /// Why an event cannot be given to a host.
    struct Unusable: Error {
        let description: String
    }

    /// - Parameter reader: the node that reads.
    func forHost(at reader: Node) throws -> DomainEvents.ImportedEvent {
        // A node exports its own events only, so the names of their processes have no node in front.
        guard let id = EventID(headers.id), !id.isForeign else {
            throw Unusable(description: "its identity \"\(headers.id.prefix(200))\" names no process of \(node)")
        }
        return try DomainEvents.ImportedEvent(
            UntypedEvent(name: headers.name, payload: payload),
            id: id.named(by: node),
            nanosecondsSinceEpoch: headers.time.flatMap(EventTime.nanoseconds),
            cause: headers.cause.flatMap { EventID($0)?.seen(at: reader, from: node) },
            root: headers.root.flatMap { EventID($0)?.seen(at: reader, from: node) },
            traceparent: headers.traceparent.flatMap { Traceparent($0) },
            // The other gateway's count says nothing of deliveries to this host, only that the event may be a repeat.
            attempt: mayBeRepeat || headers.attempt > 1 ? 2 : 1
        )
    }
}

extension EventID {
    /// The identity with the node in front of its process's name.
    fileprivate func named(by node: Node) -> EventID {
        EventID(origin: node.name + "/" + origin, incarnation: incarnation, number: number)
    }

    /// How this node spells an identity from another node: of a process there, of this node, or of a third one.
    fileprivate func seen(at reader: Node, from node: Node) -> EventID {
        guard isForeign else { return named(by: node) }
        let prefix = "\(reader)/"
        guard origin.utf8.starts(with: prefix.utf8) else { return self }
        return EventID(origin: String(origin.dropFirst(prefix.count)), incarnation: incarnation, number: number)
    }
}
