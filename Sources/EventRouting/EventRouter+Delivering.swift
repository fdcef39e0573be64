import BridgeTransport
import CBOR
package import DomainEvents

/// Events without a type whose publisher waits for receipts.
extension EventRouter {
    /// Publishes an event from its encoded form, without its type, and returns when every handler of it has returned,
    /// here and in every process that gets it.
    ///
    /// - Parameters:
    ///   - context: made by the publisher for this event.
    ///   - limit: how long it waits in all, including for room.
    /// - Throws: As `EventPublisher.deliver`.
    /// - Returns: How many handlers the event had in each process.
    package func deliver(
        name: String,
        payload: [UInt8],
        context: EventContext,
        within limit: Duration
    ) async throws -> DeliveryReceipt {
        let entry = try entry(toPublish: name)
        return try await publisher.awaitReceipts(of: name, context: context, within: limit) { [self] ledger, wait in
            await waitForRoom(name: name)
            try wait.beginLeaving()
            if let refusal = refusal(of: name, context) { throw refusal }
            let start = trace.start(of: entry)
            defer { if start != 0 { trace.recorder.note(.publish, of: name, context, from: start) } }
            try payload.withUnsafeBytes { payload in
                tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
                try handOut(payload, of: entry, context: context, ledger, hasLeft: wait.hasLeft)
            }
        }
    }

    private func handOut(
        _ payload: UnsafeRawBufferPointer,
        of entry: NamedEvents,
        context: EventContext,
        _ ledger: ReceiptLedger,
        hasLeft: () -> Void
    ) throws(DeliveryError) {
        let own = publisher.source.origin
        let fanout = entry.fanout
        var sent = Forwarded.taken
        let outcome = fanout.deliverHere(payload, context: context, lane: nil) { held in
            sent = entry.sendToAll(
                payload,
                context: context,
                receipts: ledger,
                to: fanout.targets(of: payload, except: nil),
                attached: fanout.attached,
                held: &held,
                by: self
            )
            hasLeft()
            return sent.isTaken
        } completion: { handlers in
            LedgerCompletion(ledger: ledger, process: own, handlers: handlers)
        }
        if case .failed(let failure) = sent { throw failure }
        switch outcome {
        case .pending: return
        case .handled(let handlers): ledger.receive(ProcessReceipt(process: own, handlers: handlers))
        case .unwanted: ledger.receive(ProcessReceipt(process: own, handlers: 0))
        case .refused(_, let text):
            let failure = DeliveryError(
                .refused,
                of: entry.name,
                id: context.id,
                "\(entry.name) was refused here: \(text)",
                field: CBORError.field(named: text)
            )
            ledger.receive(ProcessReceipt(process: own, handlers: 0, failure: failure))
        }
    }
}
