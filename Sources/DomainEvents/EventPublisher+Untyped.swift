import Synchronization

/// Events without a type: published and subscribed to by name, and otherwise like events with a type.
///
/// Each of these calls throws a ``DeliveryError`` with the code `nameHasType` if the name belongs to a type of this
/// publisher or of the bridge, and with the code `notEncodable` if no event can have the name.
extension EventPublisher {
    // MARK: - Publishing

    /// Publishes an event without a type; otherwise like ``publish(_:)-(E)``.
    public func publish(_ event: UntypedEvent) throws(DeliveryError) {
        let channel = try untypedChannel(named: event.name)
        if openTransactions.load(ordering: .relaxed) != 0 {
            return publishInTransaction(event, to: channel, causedBy: nil)
        }
        channel.publish(event, from: self)
    }

    /// Publishes an event without a type, with another event as its cause.
    public func publish(_ event: UntypedEvent, causedBy cause: EventContext) throws(DeliveryError) {
        let channel = try untypedChannel(named: event.name)
        if openTransactions.load(ordering: .relaxed) != 0 {
            return publishInTransaction(event, to: channel, causedBy: cause)
        }
        channel.publishFully(event, from: self, causedBy: cause, on: .current)
    }

    /// Publishes an event without a type, with its own place in a distributed trace.
    public func publish(_ event: UntypedEvent, traceparent: Traceparent) throws(DeliveryError) {
        publish(event, to: try untypedChannel(named: event.name), traceparent: traceparent)
    }

    /// Waits for room, then publishes an event without a type; otherwise like ``send(_:)-(E)``.
    @discardableResult
    public func send(_ event: UntypedEvent) async throws -> EventID {
        try await send(event, to: untypedChannel(named: event.name))
    }

    /// Publishes an event without a type, and returns when every handler of it has returned, here and elsewhere;
    /// otherwise like the call for events with a type.
    @discardableResult
    public func deliver(
        _ event: UntypedEvent,
        within limit: Duration,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws -> DeliveryReceipt {
        try await deliver(event, to: untypedChannel(named: event.name), within: limit, clock: clock)
    }

    // MARK: - Subscribing

    /// Calls `handler` for each event of this name where this publisher delivers by default.
    ///
    /// Events of peers that have a type for the name arrive, too: such peers send the same bytes.
    public func subscribe(
        toEventsNamed name: String,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (UntypedEvent) throws -> Void
    ) throws(DeliveryError) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: try untypedChannel(named: name), on: defaultExecutor, at: site, handler)
    }

    /// Calls `handler` for each event of this name on a queue: in order and one at a time, also on a concurrent queue.
    public func subscribe(
        toEventsNamed name: String,
        on context: QueueDelivery,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (UntypedEvent) throws -> Void
    ) throws(DeliveryError) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: try untypedChannel(named: name), on: context.executor, at: site, handler)
    }

    /// Calls `handler` for each event of this name on a queue, in order; the event counts as handled when the handler's
    /// delivery is acknowledged, which may be later and on another thread.
    ///
    /// Otherwise like the call for events with a type.
    public func subscribe(
        toEventsNamed name: String,
        on context: QueueDelivery,
        acknowledging: ManualAcknowledgement,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (UnsettledDelivery<UntypedEvent>) throws -> Void
    ) throws(DeliveryError) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: try untypedChannel(named: name), on: context.executor, at: site, acknowledging: handler)
    }

    /// Calls `handler` for each event of this name where this publisher delivers by default; the event counts as
    /// handled when the handler's delivery is acknowledged, which may be later and on another thread.
    ///
    /// Otherwise like the call for events with a type.
    public func subscribe(
        toEventsNamed name: String,
        acknowledging: ManualAcknowledgement,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (UnsettledDelivery<UntypedEvent>) throws -> Void
    ) throws(DeliveryError) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: try untypedChannel(named: name), on: defaultExecutor, at: site, acknowledging: handler)
    }

    /// Calls an asynchronous `handler` for each event of this name: in order, each call beginning when the one before
    /// has returned.
    public func subscribe(
        toEventsNamed name: String,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @isolated(any) @Sendable (UntypedEvent) async throws -> Void
    ) throws(DeliveryError) -> Subscription {
        let channel = try untypedChannel(named: name)
        let subscriber = TaskSubscriber(
            UntypedEvent.self,
            untypedName: name,
            site: SubscriptionSite(file: file, line: line),
            publisher: self,
            closure: handler
        )
        return subscribe(to: channel, deferred: subscriber)
    }

    /// The events of one name with their contexts, for `for try await`; otherwise like the sequence of a type's events.
    public func deliveries(
        ofEventsNamed name: String,
        buffering: EventBuffering<UntypedEvent> = .waiting(),
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(DeliveryError) -> DeliverySequence<UntypedEvent> {
        DeliverySequence(consumers(of: try untypedChannel(named: name), buffering, file, line))
    }

    // MARK: - For a program without types

    /// Makes the channel of a name without a type, so that a journal waiting for the name's first use learns of it.
    package func useUntyped(_ name: String) throws(DeliveryError) { _ = try untypedChannel(named: name) }
}
