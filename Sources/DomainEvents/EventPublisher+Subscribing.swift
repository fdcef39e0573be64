extension EventPublisher {
    /// Calls `handler` for each event, on the thread that publishes the event; a publisher that was made for a queue
    /// (``init(deliveringOn:)-(QueueDelivery)``) or for the main actor calls the handler there.
    ///
    /// For an event from another process, the publishing thread is one that reads the link. The subscription ends when
    /// it is released or cancelled. If a caller or another process waits until the event is handled, that caller or
    /// process gets the first error that a handler throws. The publisher publishes other errors as ``HandlerFailed``.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (E) throws -> Void
    ) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: channel(of: type), on: defaultExecutor, at: site, handler)
    }

    /// Calls `handler` on the main actor for each event, in order; `publish` does not wait for the handler.
    ///
    /// All deliveries of one publisher `on: .main` form one strand: different types of events keep their order.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        on context: MainDelivery,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @MainActor @Sendable (E) throws -> Void
    ) -> Subscription {
        subscribe(to: channel(of: type), on: .main, at: SubscriptionSite(file: file, line: line)) { event in
            // The main queue runs its blocks on the main actor's executor.
            try MainActor.assumeIsolated { try handler(event) }
        }
    }

    /// Calls `handler` on a queue for each event: in order and one at a time, also on a concurrent queue.
    ///
    /// All deliveries of one publisher on one queue form one strand: events of different types keep their order, too.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        on context: QueueDelivery,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (E) throws -> Void
    ) -> Subscription {
        subscribe(to: channel(of: type), on: context.executor, at: SubscriptionSite(file: file, line: line), handler)
    }

    /// Calls `handler` on a queue for each event, in order; the event counts as handled when the handler's delivery is
    /// acknowledged, which may be later and on another thread.
    ///
    /// The handler itself may keep any number of deliveries unsettled; the limits are on the senders' side. Another
    /// process sends no more unsettled events than its link allows. In this process, `send` waits while 4096 events are
    /// unsettled or wait for the handler. If the handler throws, the delivery is refused. When the subscription is
    /// cancelled, deliveries that the handler has can still be settled, and events that wait for it count as refused.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        on context: QueueDelivery,
        acknowledging: ManualAcknowledgement,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (UnsettledDelivery<E>) throws -> Void
    ) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: channel(of: type), on: context.executor, at: site, acknowledging: handler)
    }

    /// Calls `handler` for each event on the thread that publishes the event; the event counts as handled when the
    /// handler's delivery is acknowledged, which may be later and on another thread.
    ///
    /// All these handlers of one publisher form one strand: they run one at a time, and in the order of the events. If
    /// a thread publishes an event while the strand is busy or has older events, a free thread calls the handler. If
    /// this publisher delivers on a queue by default, the handler is called there. Otherwise like the call for a
    /// handler on a queue.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        acknowledging: ManualAcknowledgement,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @Sendable (UnsettledDelivery<E>) throws -> Void
    ) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        return subscribe(to: channel(of: type), on: defaultExecutor, at: site, acknowledging: handler)
    }

    /// Calls `handler` on the actor from which this is called, for each event: in order, one call after the other.
    ///
    /// The closure may use the actor's state as the surrounding code does. Each subscription is its own strand: if the
    /// order of events of different types matters, make them cases of one enum, or subscribe on a queue.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        on context: CallerDelivery,
        file: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (E) async throws -> Void
    ) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        let subscriber = TaskSubscriber(type, site: site, publisher: self, closure: handler)
        return subscribe(to: channel(of: type), deferred: subscriber)
    }

    /// Calls an asynchronous `handler` for each event: in order, each call beginning when the one before has returned.
    ///
    /// A handler that belongs to an actor is called on that actor: once code on the actor has cancelled the
    /// subscription, no further call begins. An event counts as handled when the call has returned. Each subscription
    /// is its own strand: if the order of events of different types matters, make them cases of one enum.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        file: StaticString = #fileID,
        line: UInt = #line,
        _ handler: @escaping @isolated(any) @Sendable (E) async throws -> Void
    ) -> Subscription {
        let site = SubscriptionSite(file: file, line: line)
        let subscriber = TaskSubscriber(type, site: site, publisher: self, closure: handler)
        return subscribe(to: channel(of: type), deferred: subscriber)
    }

    // MARK: - Sequences

    /// The events of one type as an asynchronous sequence, for any number of consumers, each with a buffer of its own.
    ///
    /// The first iterator is subscribed from the moment this returns, each further iterator from the moment it is made.
    /// `buffering` says what happens when a consumer is slow. A consumer that misses events gets the error
    /// ``EventsMissed``.
    public func events<E: DomainEvent>(
        of type: E.Type,
        buffering: EventBuffering<E> = .waiting(),
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> EventSequence<E> {
        EventSequence(consumers(of: channel(of: type), buffering, file, line))
    }

    /// The events of one type and the places where the consumer has missed events; never throws.
    ///
    /// Otherwise like ``events(of:buffering:file:line:)``.
    public func eventsAndGaps<E: DomainEvent>(
        of type: E.Type,
        buffering: EventBuffering<E> = .waiting(),
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> EventAndGapSequence<E> {
        EventAndGapSequence(consumers(of: channel(of: type), buffering, file, line))
    }

    /// The events of one type, each with its context, for loops that need the context: a `for await` loop is no
    /// handler, so ``EventContext/current`` is not the context of the loop's event.
    ///
    /// Otherwise like ``events(of:buffering:file:line:)``.
    public func deliveries<E: DomainEvent>(
        of type: E.Type,
        buffering: EventBuffering<E> = .waiting(),
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> DeliverySequence<E> {
        DeliverySequence(consumers(of: channel(of: type), buffering, file, line))
    }

    func consumers<E>(
        of channel: EventChannel<E>,
        _ buffering: EventBuffering<E>,
        _ file: StaticString,
        _ line: UInt
    ) -> Consumers<E> {
        Consumers(channel, of: self, buffering: buffering, site: SubscriptionSite(file: file, line: line))
    }

    // MARK: - Other publishers

    /// Passes events of one type on to another publisher, such as a subsystem's; the events keep identity and cause.
    ///
    /// The other publisher's subscribers, queues and processes get the events as this publisher's do, causes before
    /// effects. This publisher holds the other publisher weakly. Each publisher gets an event once, even if publishers
    /// pass events on in a circle.
    public func forward<E: DomainEvent>(_ type: E.Type, to other: EventPublisher) -> Subscription {
        let gate = CallGate()
        let channel = channel(of: type)
        _ = other.channel(of: type)
        channel.add(PublisherLink(to: other, gate: gate))
        announceInterest(in: channel.name)
        return Subscription(gate: gate, channel: channel, publisher: self)
    }

    // MARK: - Common

    /// - Parameter executor: nil for the publishing thread.
    func subscribe<E: DomainEvent>(
        to channel: EventChannel<E>,
        on executor: StrandExecutor?,
        at site: SubscriptionSite,
        _ handler: @escaping @Sendable (E) throws -> Void
    ) -> Subscription {
        pendingSubscription(to: channel, on: executor, at: site, handler).start()
    }

    /// - Parameter executor: nil for the publishing threads.
    func subscribe<E: DomainEvent>(
        to channel: EventChannel<E>,
        on executor: StrandExecutor?,
        at site: SubscriptionSite,
        acknowledging handler: @escaping @Sendable (UnsettledDelivery<E>) throws -> Void
    ) -> Subscription {
        let strand = strand(on: executor ?? .publishingThreads(of: source))
        let subscriber = StrandSubscriber(
            E.self,
            untypedName: channel.untypedName,
            site: site,
            strand: strand,
            publisher: self,
            acknowledging: handler
        )
        if strand.isInline {
            // The caller comes first: an event that is put into the strand before there is a call for it would wait for
            // the next. The caller has a gate of its own: its calls may handle the event for another subscription, and
            // `cancelAndWait()` of this subscription does not wait for that.
            let caller = InlineSubscriber<E>(site: site, owner: subscriber.gate) { _ in strand.workOffHere() }
            withExtendedLifetime(channel.put(inline: caller)) {}
        }
        return subscribe(to: channel, deferred: subscriber)
    }

    func subscribe(to channel: AnyEventChannel, deferred subscriber: DeferredSubscriber) -> Subscription {
        PendingSubscription(subscriber: subscriber, channel: channel, publisher: self).start()
    }

    /// - Parameter executor: nil for the publishing thread.
    func pendingSubscription<E: DomainEvent>(
        to channel: EventChannel<E>,
        on executor: StrandExecutor?,
        at site: SubscriptionSite,
        _ handler: @escaping @Sendable (E) throws -> Void
    ) -> PendingSubscription {
        let subscriber: AnySubscriber =
            if let executor {
                StrandSubscriber(
                    E.self,
                    untypedName: channel.untypedName,
                    site: site,
                    strand: strand(on: executor),
                    publisher: self,
                    handler: handler
                )
            } else {
                InlineSubscriber(site: site, handler)
            }
        return PendingSubscription(subscriber: subscriber, channel: channel, publisher: self)
    }
}
