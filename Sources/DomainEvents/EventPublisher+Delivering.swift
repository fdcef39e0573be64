import Locks

extension EventPublisher {
    /// Waits until every link and every consumer that wants the event has room, then publishes it.
    ///
    /// Inside a handler nothing waits: up to the hard limit the event is taken, beyond it this throws.
    /// - Throws: ``DeliveryError`` if no room will come or the hard limit is reached inside a handler; `CancellationError` if the
    ///   task was cancelled while it waited, and then the event was not published.
    /// - Returns: The event's identity, once it lies in every outbox that wants it.
    @discardableResult
    public func send<E: DomainEvent>(_ event: E) async throws -> EventID {
        let channel = channel(of: E.self)
        if let transaction = Transaction.current(of: self) {
            let context = makeContext(causedBy: EventContext.current)
            let publish = { [self] in
                guard let routes = channel.currentRoutes() else { return }
                _ = channel.publish(event, context: context, to: routes, from: self, announcesLoss: true)
            }
            if transaction.hold(publish) { return context.id }
        }
        let reserved = try await reserveRoom(in: channel)
        defer { for room in reserved { room.giveBack() } }
        let context = makeContext(causedBy: EventContext.current)
        guard let routes = channel.currentRoutes() else { return context.id }
        if let failure = channel.publish(event, context: context, to: routes, from: self, announcesLoss: false) {
            throw failure
        }
        return context.id
    }

    /// - Returns: Where a place is kept for the event until it is given back.
    private func reserveRoom<E: DomainEvent>(in channel: EventChannel<E>) async throws -> [Room] {
        // Every handler returns, and so makes room at last: none of them waits for any.
        if DeliveryThread.current.isDelivering || EventContext.handledByTask != nil { return [] }
        guard let routes = channel.currentRoutes() else { return [] }
        for forwarder in routes.forwarders where !forwarder.hasRoom { try await forwarder.waitForRoom() }
        var reserved: [Room] = []
        do {
            // All take them in the order of subscribing: nobody waits in a circle.
            for subscriber in routes.deferred {
                try await subscriber.room.reserve()
                reserved.append(subscriber.room)
            }
        } catch {
            for room in reserved { room.giveBack() }
            throw error
        }
        return reserved
    }

    /// Publishes an event and returns when every handler of it in this process has returned.
    ///
    /// Waits for room as ``send(_:)`` does. What a handler throws is thrown here, when all of them have returned; it is not
    /// published as ``HandlerFailed``.
    /// - Parameters:
    ///   - limit: how long it waits in all.
    ///   - clock: what measures that time.
    /// - Throws: The first error of a handler; ``DeliveryError`` if nobody subscribes to the event, an outbox does not take it, or
    ///   handlers are not done in time, and then it names them; `CancellationError` if the task is cancelled. The event may have been
    ///   delivered in the last two cases.
    /// - Returns: Which event it was, and how many handlers it had.
    @discardableResult
    public func deliver<E: DomainEvent>(
        _ event: E,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> DeliveryReceipt {
        let channel = channel(of: E.self)
        try refuseInTransaction("deliver", channel.name)
        let wait = DeliveryWait<DeliveryReceipt>()
        let context = makeContext(causedBy: EventContext.current)
        let unfinished = UnfinishedHandlers()
        return try await wait.value(within: limit, clock: clock) {
            DeliveryError(.timedOut, "\(channel.name) \(context.id) was not handled within \(limit)\(unfinished.text)")
        } start: { [self] in
            let reserved = try await reserveRoom(in: channel)
            defer { for room in reserved { room.giveBack() } }
            // Nobody waits any more.
            try Task.checkCancellation()
            let completion = WaitCompletion<DeliveryReceipt>(wait: wait)
            let result = try channel.deliver(event, context: context, from: self) { count, sites in
                let tracker = HandlingTracker(handlers: count, sites: sites, completion: completion)
                unfinished.set(tracker)
                return tracker
            }
            guard let result, result.handlers > 0 else {
                throw DeliveryError(.nobodySubscribed, "nobody in this process subscribes to \(channel.name)")
            }
            let receipt = DeliveryReceipt(id: context.id, handlers: [source.origin: result.handlers])
            switch result.outcome {
            case .handled, .unwanted: wait.finish(.success(receipt))
            case .failed(let error): wait.finish(.failure(error))
            case .pending: completion.set(receipt)
            }
        }
    }

    /// Publishes an event and returns the first event of another type that it has caused, through any number of steps.
    ///
    /// A request begins a chain of causes of its own: it is the ``EventContext/root`` of all that follows from it. Only events published
    /// in handlers, or with `causedBy:`, follow from it.
    /// - Parameters:
    ///   - limit: how long it waits in all.
    ///   - clock: what measures that time.
    ///   - matches: which of the events caused by it is the answer; for enum events.
    /// - Throws: ``DeliveryError`` if nobody subscribes to the event, an outbox does not take it, or there is no answer in time;
    ///   what a handler of the event throws before there is an answer; `CancellationError` if the task is cancelled.
    public func request<E: DomainEvent, Answer: DomainEvent>(
        _ event: E,
        awaiting answer: Answer.Type,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        where matches: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async throws -> Answer {
        let wait = DeliveryWait<Answer>()
        let context = makeContext(causedBy: EventContext.current, isRoot: true)
        return try await request(
            event,
            context: context,
            wait: wait,
            subscriptions: [
                answers(answer, to: context, where: matches) { wait.finish(.success($0)) }
            ],
            within: limit,
            clock: clock
        )
    }

    /// Publishes an event and returns the first event of another type that it has caused, or throws the first one of a third type.
    ///
    /// Like ``request(_:awaiting:within:clock:where:)``.
    /// - Throws: ``RequestFailed`` with the event of type `failure`; otherwise as for the request without one.
    public func request<E: DomainEvent, Answer: DomainEvent, Failure: DomainEvent>(
        _ event: E,
        awaiting answer: Answer.Type,
        orThrowing failure: Failure.Type,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock(),
        where matches: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async throws -> Answer {
        let wait = DeliveryWait<Answer>()
        let context = makeContext(causedBy: EventContext.current, isRoot: true)
        return try await request(
            event,
            context: context,
            wait: wait,
            subscriptions: [
                answers(answer, to: context, where: matches) { wait.finish(.success($0)) },
                answers(failure, to: context, where: { _ in true }) { wait.finish(.failure(RequestFailed($0))) },
            ],
            within: limit,
            clock: clock
        )
    }

    private func answers<Answer: DomainEvent>(
        _ type: Answer.Type,
        to request: EventContext,
        where matches: @escaping @Sendable (Answer) -> Bool,
        _ take: @escaping @Sendable (Answer) -> Void
    ) -> Subscription {
        let subscriber = InlineSubscriber<Answer>(site: SubscriptionSite(file: #fileID, line: #line)) { answer in
            guard let context = EventContext.current, context.root == request.id, context.id != request.id else {
                return
            }
            if matches(answer) { take(answer) }
        }
        let channel = channel(of: type)
        channel.add(subscriber)
        announceInterest(in: channel.name)
        return Subscription(gate: subscriber.gate, channel: channel, publisher: self)
    }

    private func request<E: DomainEvent, Answer: DomainEvent>(
        _ event: E,
        context: EventContext,
        wait: DeliveryWait<Answer>,
        subscriptions: [Subscription],
        within limit: Duration,
        clock: any Clock<Duration>
    ) async throws -> Answer {
        defer { withExtendedLifetime(subscriptions) {} }
        let channel = channel(of: E.self)
        try refuseInTransaction("request", channel.name)
        return try await wait.value(within: limit, clock: clock) {
            DeliveryError(
                .timedOut,
                "\(channel.name) \(context.id) was not answered by \(Answer.eventName) within \(limit)"
            )
        } start: { [self] in
            let reserved = try await reserveRoom(in: channel)
            defer { for room in reserved { room.giveBack() } }
            try Task.checkCancellation()
            let completion = FailureCompletion(wait: wait)
            let result = try channel.deliver(event, context: context, from: self) { count, sites in
                HandlingTracker(handlers: count, sites: sites, completion: completion)
            }
            guard let result else { throw DeliveryError(.nobodySubscribed, "nobody subscribes to \(channel.name)") }
            if case .failed(let error) = result.outcome { wait.finish(.failure(error)) }
        }
    }

    private func refuseInTransaction(_ call: String, _ name: String) throws(DeliveryError) {
        guard Transaction.current(of: self) != nil else { return }
        throw DeliveryError(
            .insideTransaction,
            "\(call) of \(name) inside a transaction would wait for what the transaction holds; publish or send it"
        )
    }
}
