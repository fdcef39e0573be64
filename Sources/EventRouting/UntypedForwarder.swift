import BridgeTransport
import DomainEvents

/// Carries the untyped events of one name from the publisher to its router: their payload goes out as it is.
///
/// It owns the router for the reason given in ``TopicForwarder``.
final class UntypedForwarder: EventForwarder {
    private let topic: Topic
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
            untyped(event),
            to: fanout,
            context: context,
            ifFull: ifFull,
            receipts: receipts,
            held: &held,
            by: router
        )
    }

    /// The event with its type known: only channels of untyped events have this forwarder.
    private func untyped<E: DomainEvent>(_ event: E) -> UntypedEvent {
        guard let event = event as? UntypedEvent else {
            preconditionFailure("an event of the type \(E.self) came to the forwarder of untyped events")
        }
        return event
    }

    var hasRoom: Bool { topic.hasRoom }

    func waitForRoom<E: DomainEvent>(for event: E) async throws {
        do {
            try await topic.waitForRoom(for: untyped(event))
        } catch let failure as DeliveryError {
            throw router.refusalOfWaiting(topic.name) ?? failure
        }
    }

    var isWantedElsewhere: Bool { fanout.isWanted }

    var untyped: any EventForwarder { self }
}

extension Topic {
    /// Forwards an event without a type; otherwise like the method for events with a type, which encodes them.
    fileprivate func forward(
        _ event: UntypedEvent,
        to fanout: Fanout,
        context: EventContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout [any HeldEvent]?,
        by router: EventRouter
    ) -> Forwarded {
        let refusal = router.refusal(of: name, context)
        if let refusal, !router.isSelfReport(name) { return refused(refusal, context, ifFull, by: router) }
        let start = router.trace.start(of: self)
        defer { if start != 0 { router.trace.recorder.note(.publish, of: name, context, from: start) } }
        return event.payload.withUnsafeBytes { payload in
            let targets =
                refusal == nil ? fanout.pooled?.targets(of: event, payload, isPublished: true) ?? fanout.targets : []
            return forward(
                payload,
                context,
                ifFull,
                receipts,
                to: targets,
                fanout.attached,
                triesAlone: true,
                held: &held,
                by: router
            )
        }
    }

    fileprivate func waitForRoom(for event: UntypedEvent) async throws {
        let fanout = fanout
        let targets = event.payload.withUnsafeBytes { payload in
            fanout.pooled?.targets(of: event, payload, isPublished: false) ?? fanout.targets
        }
        for target in targets { try await target.waitForRoom(for: name) }
    }
}
