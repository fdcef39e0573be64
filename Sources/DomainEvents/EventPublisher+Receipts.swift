/// Waits until every process that got an event has sent its receipt.
extension EventPublisher {
    /// Calls `handOut` to hand out an event of any form, and returns when every process that got it has sent its
    /// receipt.
    ///
    /// - Parameters:
    ///   - name: the event's name, for error sentences.
    ///   - context: made by this publisher for this event.
    ///   - limit: how long this waits in all, `handOut` included.
    ///   - clock: measures `limit`.
    ///   - handOut: reports to the ledger each process that gets the event, and this process's receipt; calls the
    ///     wait's `beginLeaving` before the event leaves, and its `hasLeft` when the event has left.
    /// - Throws: What `handOut` throws; otherwise as ``deliver(_:within:clock:)-(E,_,_)``. If the time is over after
    ///   the event has begun to leave, the error has a ``DeliveryError/progress``.
    package func awaitReceipts(
        of name: String,
        context: EventContext,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        handOut: @escaping @Sendable (ReceiptLedger, DeliveryWait<DeliveryReceipt>) async throws -> Void
    ) async throws -> DeliveryReceipt {
        let wait = DeliveryWait<DeliveryReceipt>()
        let ledger = receiptLedger(of: name, context, for: wait)
        defer { ledger.close(claiming: wait.claimed) }
        do {
            return try await wait.value(
                within: limit,
                clock: clock,
                timeIsOver: { ledger.timeIsOver(ledger.notHandled(within: limit, UnfinishedHandlers())) },
                start: {
                    // Keeps the ledger incomplete until the event has been handed out everywhere.
                    ledger.expect(ledger.own)
                    try await handOut(ledger, wait)
                }
            )
        } catch let error as DeliveryError
            where error.code == .timedOut && error.progress == nil && wait.hasBegunLeaving
        {
            // When the error was made, the event was just leaving, and the ledger did not know yet where to.
            throw error.having(DeliveryProgress(handled: ledger.handled, unheard: ledger.unheard))
        }
    }

    /// Publishes an awaited event on this thread, if there is room and the event has no handler on this thread.
    ///
    /// A handler on this thread may take longer than the caller waits.
    ///
    /// - Returns: True if this call has published the event, or has failed to; false if a task has to publish it.
    func deliverAtOnce<E: DomainEvent, Value: Sendable>(
        _ event: E,
        context: EventContext,
        to channel: EventChannel<E>,
        _ ledger: ReceiptLedger,
        _ unfinished: UnfinishedHandlers,
        _ wait: DeliveryWait<Value>
    ) -> Bool {
        let destinations = destinations(of: channel)
        let isInHandler = EventContext.isInHandler
        var reserved: [Room] = []
        if let destinations {
            guard !destinations.hasInline,
                let rooms = reserveRoomAtOnce(at: destinations, isInHandler: isInHandler)
            else { return false }
            reserved = rooms
        }
        let ifFull: FullOutboxAction = isInHandler ? .fail : .wait
        let isOver = wait.begin {
            try handOut(event, context: context, in: channel, to: destinations, ifFull, ledger, unfinished, wait)
        }
        for room in reserved { room.giveBack() }
        return isOver
    }

    /// Publishes an awaited event, for which there was room.
    ///
    /// - Parameters:
    ///   - destinations: nil if nothing gets the event.
    ///   - ifFull: not `drop`.
    /// - Returns: False if the event was not published, because other events have filled the room since.
    func handOut<E: DomainEvent, Value: Sendable>(
        _ event: E,
        context: EventContext,
        in channel: EventChannel<E>,
        to destinations: Destinations?,
        _ ifFull: FullOutboxAction,
        _ ledger: ReceiptLedger,
        _ unfinished: UnfinishedHandlers,
        _ wait: DeliveryWait<Value>
    ) throws -> Bool {
        try wait.beginLeaving()
        // Keeps the ledger incomplete until the event has been handed out everywhere.
        ledger.expect(ledger.own)
        guard let destinations else {
            ledger.handledHere(by: 0)
            return true
        }
        wait.willPublish(to: destinations)
        let outcome = try channel.deliver(
            event,
            context: context,
            to: destinations,
            ifFull: ifFull,
            receipts: ledger,
            hasLeft: { inline in
                if !inline.isEmpty {
                    unfinished.set(inline: inline.map { UnfinishedHandlers.Inline(gate: $0.gate, site: $0.site) })
                }
                wait.hasLeft()
            },
            tracker: { count, handlers, sites in
                let completion = LedgerCompletion(ledger: ledger, handlers: handlers)
                let tracker = HandlingTracker(handlers: count, sites: sites, lock: wait.lock, completion: completion)
                unfinished.set(tracker)
                return tracker
            }
        )
        guard let outcome else {
            wait.awaitsRoom()
            return false
        }
        if destinations.hasInline { unfinished.set(inline: []) }
        switch outcome {
        case .handled(let handlers): ledger.handledHere(by: handlers)
        case .unwanted: ledger.handledHere(by: 0)
        case .failed(let thrown):
            ledger.handlersThrew(thrown)
            ledger.handledHere(by: 0)
        case .pending: break
        }
        return true
    }

    /// Makes the ledger of an event for a caller that waits for all receipts: the caller gets the first failure, or the
    /// number of handlers in each process.
    func receiptLedger(
        of name: String,
        _ context: EventContext,
        for wait: DeliveryWait<DeliveryReceipt>
    ) -> ReceiptLedger {
        ReceiptLedger(of: name, context: context, lock: wait.lock) { [self, id = context.id] outcome in
            switch outcome {
            case .failed(let error, let held): wait.finish(.failure(error), claiming: held)
            case .handled(let handlers) where handlers.isEmpty:
                wait.finish(.failure(noSubscriberError(to: name, id)))
            case .handled(let handlers):
                wait.finish(.success(DeliveryReceipt(id: id, handlers: handlers)))
            }
        }
    }

    /// The error for an event that no process has handled.
    func noSubscriberError(to name: String, _ id: EventID) -> DeliveryError {
        refusalAfterShutdown(of: name, id)
            ?? DeliveryError(.noSubscriber, of: name, id: id, "nothing subscribes to \(name)")
    }

    /// The error for an event that has no subscriber in this process, once this publisher's bridge has shut down or
    /// this process has left the bridge.
    ///
    /// - Returns: Nil if there is a bridge, or if there never was a bridge.
    func refusalAfterShutdown(of name: String, _ id: EventID) -> DeliveryError? {
        guard hasLostItsBridge else { return nil }
        return DeliveryError(
            .shuttingDown,
            of: name,
            id: id,
            "\(name) was not taken: no bridge carries it any more, and nothing here subscribes to it"
        )
    }
}
