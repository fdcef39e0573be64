import DomainEvents

/// Replaces the forwarder to a peer that is gone for good: `publish` drops the event, and every other call throws an
/// error that says why.
final class RefusingForwarder: EventForwarder {
    private let error: DeliveryError

    init(_ name: String, because reason: String) {
        error = DeliveryError(.workerUnavailable, of: name, "\(name) was not taken: \(reason)")
    }

    func forward<E: DomainEvent>(
        _ event: E,
        context: BorrowedContext,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        .failed(error)
    }

    var hasRoom: Bool { true }

    func waitForRoom<E: DomainEvent>(for event: E) async throws { throw error }

    var isWantedElsewhere: Bool { false }
}
