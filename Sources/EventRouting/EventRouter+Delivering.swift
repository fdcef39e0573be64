import BridgeTransport
package import DomainEvents

/// Events without a type whose publisher waits for what becomes of them.
extension EventRouter {
    /// Publishes an event whose type this process does not know, from its encoded form, and returns when every handler of it has returned,
    /// here and in every process that gets it.
    ///
    /// - Parameters:
    ///   - context: made by the publisher for this event.
    ///   - limit: how long it waits in all, for room too.
    /// - Throws: as `EventPublisher.deliver`.
    /// - Returns: How many handlers the event had in which process.
    package func deliver(
        name: String,
        payload: [UInt8],
        context: EventContext,
        within limit: Duration
    ) async throws -> DeliveryReceipt {
        let entry = try entry(toPublish: name)
        return try await publisher.awaitReceipts(of: name, context: context, within: limit) { [self] ledger in
            await waitForRoom(name: name)
            // Nobody waits any more.
            try Task.checkCancellation()
            if let refusal = refusal(of: name, context) { throw refusal }
            let start = trace.start(of: entry)
            defer { if start != 0 { trace.recorder.note(.publish, of: name, context, from: start) } }
            try payload.withUnsafeBytes { payload in
                tap?(PassingEvent(name: name, context: context, payload: payload, sender: nil))
                let fanout = entry.fanout
                let outcome = entry.sendToAll(
                    payload,
                    context: context,
                    receipts: ledger,
                    to: fanout.targets(of: payload, except: nil),
                    attached: fanout.attached
                )
                if case .failed(let failure) = outcome { throw failure }
                deliverHere(payload, name: name, context: context, to: fanout, ledger)
            }
        }
    }

    private func deliverHere(
        _ payload: UnsafeRawBufferPointer,
        name: String,
        context: EventContext,
        to fanout: NamedEvents.Fanout,
        _ ledger: ReceiptLedger
    ) {
        let own = publisher.source.origin
        let outcome = fanout.deliverHere(payload, context: context, lane: nil) { handlers in
            LedgerCompletion(ledger: ledger, process: own, handlers: handlers)
        }
        switch outcome {
        case .pending: return
        case .handled(let handlers): ledger.receive(ProcessReceipt(process: own, handlers: handlers))
        case .unwanted: ledger.receive(ProcessReceipt(process: own, handlers: 0))
        case .refused(_, let text):
            let failure = DeliveryError(.refused, "\(name) was refused here: \(text)")
            ledger.receive(ProcessReceipt(process: own, handlers: 0, failure: failure))
        }
    }
}
