/// Waiting for what all processes say of an event.
extension EventPublisher {
    /// Has `handOut` hand out an event of any form, and returns when every process that got it has said what became of
    /// it there.
    ///
    /// - Parameters:
    ///   - name: the event's, for sentences.
    ///   - context: made by this publisher for this event.
    ///   - limit: how long it waits in all, `handOut` included.
    ///   - clock: what measures that time.
    ///   - handOut: tells the ledger of each process that gets the event, and what this one says of it; and the wait
    ///     when the event begins to leave, and when it has left.
    /// - Throws: what `handOut` throws; otherwise as ``deliver(_:within:clock:)``.
    package func awaitReceipts(
        of name: String,
        context: EventContext,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        handOut: @escaping @Sendable (ReceiptLedger, DeliveryWait<DeliveryReceipt>) async throws -> Void
    ) async throws -> DeliveryReceipt {
        let wait = DeliveryWait<DeliveryReceipt>()
        let ledger = receiptLedger(of: name, context, for: wait)
        defer { ledger.close() }
        return try await wait.value(
            within: limit,
            clock: clock,
            timeout: { [self] in notHandled(name, context, within: limit, UnfinishedHandlers(), ledger) },
            start: { [self] in
                // Until the event has been handed out everywhere, the ledger is not complete.
                ledger.expect(source.origin)
                try await handOut(ledger, wait)
            }
        )
    }

    /// The ledger of an event whose first failure, or the count of whose handlers, is waited for.
    func receiptLedger(
        of name: String,
        _ context: EventContext,
        for wait: DeliveryWait<DeliveryReceipt>
    ) -> ReceiptLedger {
        ReceiptLedger(of: name, id: context.id) { [self] handlers, failure in
            if let failure {
                wait.finish(.failure(failure))
            } else if handlers.isEmpty {
                wait.finish(.failure(nobodySubscribes(to: name, context)))
            } else {
                wait.finish(.success(DeliveryReceipt(id: context.id, handlers: handlers)))
            }
        }
    }

    /// Why an event that no process has handled failed.
    func nobodySubscribes(to name: String, _ context: EventContext) -> DeliveryError {
        refusalAfterShutdown(of: name, context)
            ?? DeliveryError(.nobodySubscribed, of: name, id: context.id, "nobody subscribes to \(name)")
    }

    /// Why an event without a subscriber in this process is not taken: the bridge that might have carried it has ended,
    /// or this process has left it.
    ///
    /// - Returns: Nil if there is a bridge, or was none.
    func refusalAfterShutdown(of name: String, _ context: EventContext) -> DeliveryError? {
        guard hasLostItsBridge else { return nil }
        return DeliveryError(
            .shuttingDown,
            of: name,
            id: context.id,
            "\(name) was not taken: no bridge carries it any more, and nobody here subscribes to it"
        )
    }

    /// Why the caller no longer waits, and for which handlers and processes it waited.
    func notHandled(
        _ name: String,
        _ context: EventContext,
        within limit: Duration,
        _ unfinished: UnfinishedHandlers,
        _ ledger: ReceiptLedger
    ) -> DeliveryError {
        let own = source.origin
        let others = ledger.unheard.filter { $0 != own }
        let unheard = others.isEmpty ? "" : "; nothing was heard from \(others.joined(separator: ", "))"
        return DeliveryError(
            .timedOut,
            of: name,
            id: context.id,
            "\(name) \(context.id) was not handled within \(limit)\(unfinished.text)\(unheard)",
            progress: others.isEmpty
                ? nil : DeliveryProgress(handled: ledger.handled.filter { $0 != own }, unheard: others)
        )
    }
}
