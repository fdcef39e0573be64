/// A publisher that an event passes on its way, with its routes at this moment.
struct DeliveryStop<E: DomainEvent> {
    let channel: EventChannel<E>
    let routes: Routes<E>
    let publisher: EventPublisher
}

/// All publishers that an event passes: nearly always one, for which no memory is taken.
struct DeliveryStops<E: DomainEvent> {
    let first: DeliveryStop<E>
    var others: [DeliveryStop<E>] = []

    // Not a `Collection`: code that is generic over one takes memory for each element.
    func forEach(_ body: (DeliveryStop<E>) -> Void) {
        body(first)
        for stop in others { body(stop) }
    }

    func count(_ count: (Routes<E>) -> Int) -> Int {
        others.reduce(count(first.routes)) { $0 + count($1.routes) }
    }
}

extension EventChannel {
    // MARK: - Ways

    /// Publishes through all outboxes, lines and handlers, here and at the publishers that are linked to this one.
    ///
    /// - Returns: Why some outbox did not take the event; the handlers here get it all the same.
    func publish(
        _ event: E,
        context: EventContext,
        to routes: Routes<E>,
        from publisher: EventPublisher,
        announcesLoss: Bool
    ) -> DeliveryError? {
        let here = DeliveryStop(channel: self, routes: routes, publisher: publisher)
        let stops = stops(from: here)
        let failure = forward(event, context: context, through: stops, announcesLoss: announcesLoss)
        if announcesLoss || failure == nil, routes.hasSubscribers { deliver(event, context: context, to: stops) }
        return failure
    }

    /// Every publisher that the event reaches, each once, also where links form a circle.
    private func stops(from first: DeliveryStop<E>) -> DeliveryStops<E> {
        if first.routes.links.isEmpty { return DeliveryStops(first: first) }
        var stops = [first]
        var reached: Set<ObjectIdentifier> = [ObjectIdentifier(first.publisher)]
        var next = 0
        while next < stops.count {
            for link in stops[next].routes.links {
                guard let publisher = link.publisher, reached.insert(ObjectIdentifier(publisher)).inserted else {
                    continue
                }
                let channel = publisher.channel(of: E.self)
                guard let routes = channel.currentRoutes() else { continue }
                stops.append(DeliveryStop(channel: channel, routes: routes, publisher: publisher))
            }
            next += 1
        }
        stops.removeFirst()
        return DeliveryStops(first: first, others: stops)
    }

    /// Into every outbox before any local handler runs: nobody sees an effect before its cause.
    private func forward(
        _ event: E,
        context: EventContext,
        through stops: DeliveryStops<E>,
        announcesLoss: Bool
    ) -> DeliveryError? {
        var failure: DeliveryError?
        stops.forEach { stop in
            let problem = forward(event, context: context, through: stop.routes, announcesLoss: announcesLoss)
            failure = failure ?? problem
        }
        return failure
    }

    private func forward(
        _ event: E,
        context: EventContext,
        through routes: Routes<E>,
        announcesLoss: Bool
    ) -> DeliveryError? {
        var failure: DeliveryError?
        for forwarder in routes.forwarders {
            let problem = forwarder.forward(event, context: context, announcesLoss: announcesLoss)
            failure = failure ?? problem
        }
        return failure
    }

    // MARK: - Handlers

    /// Delivers now, or behind the event that this thread is delivering.
    private func deliver(_ event: E, context: EventContext, to stops: DeliveryStops<E>) {
        let thread = DeliveryThread.current
        if thread.isDelivering {
            thread.deferDelivery(spares.take(event, context: context, stops: stops))
            return
        }
        thread.isDelivering = true
        thread.context = context
        hand(event, context: context, to: stops, on: thread)
        thread.finish()
    }

    func hand(
        _ event: E,
        context: EventContext,
        to stops: DeliveryStops<E>,
        on thread: DeliveryThread
    ) {
        post(PendingDelivery(event: event, context: context, tracker: nil), to: stops)
        callInline(event, at: stops, on: thread)
    }

    private func callInline(_ event: E, at stops: DeliveryStops<E>, on thread: DeliveryThread) {
        stops.forEach { stop in
            guard stop.routes.inlineCount > 0 else { return }
            stop.channel.call(stop.routes, event, on: thread, from: stop.publisher)
        }
    }

    private func post(_ delivery: PendingDelivery<E>, to stops: DeliveryStops<E>) {
        if stops.others.isEmpty {
            let routes = stops.first.routes
            guard !routes.deferred.isEmpty else { return }
            routes.deferred.post(delivery, lockMask: routes.lockMask, hasKeys: routes.hasKeys)
        } else {
            var all: [DeferredSubscriber<E>] = []
            var lockMask: UInt32 = 0
            var hasKeys = false
            stops.forEach { stop in
                all += stop.routes.deferred
                lockMask |= stop.routes.lockMask
                hasKeys = hasKeys || stop.routes.hasKeys
            }
            guard !all.isEmpty else { return }
            all.post(delivery, lockMask: lockMask, hasKeys: hasKeys)
        }
    }

    // MARK: - Events that somebody waits for

    /// Hands an event that another process published to the subscribers here.
    ///
    /// Queues and tasks get it first, then the inline handlers run on the calling thread. `completion` is asked for only if
    /// something is left to wait for.
    package func deliverIncoming(
        _ event: E,
        context: EventContext,
        from publisher: EventPublisher,
        completion: () -> any HandlingCompletion
    ) -> IncomingOutcome {
        guard let routes = currentRoutes(), routes.hasSubscribers else { return .unwanted }
        let here = DeliveryStop(channel: self, routes: routes, publisher: publisher)
        let stops = stops(from: here)
        // The router has passed the event on to the processes of this publisher.
        for stop in stops.others {
            _ = forward(event, context: context, through: stop.routes, announcesLoss: true)
        }
        return deliverNow(event, context: context, to: stops) {
            HandlingTracker(handlers: $0, completion: completion())
        }
    }

    /// Delivers an event of this process to subscribers here whose end somebody waits for.
    ///
    /// - Returns: How many handlers got it, and what became of those on this thread; nil if nobody gets the event.
    func deliver(
        _ event: E,
        context: EventContext,
        from publisher: EventPublisher,
        tracker make: (_ handlers: Int, _ sites: [SubscriptionSite]) -> HandlingTracker
    ) throws(DeliveryError) -> (handlers: Int, outcome: IncomingOutcome)? {
        guard let routes = currentRoutes() else { return nil }
        let stops = stops(from: DeliveryStop(channel: self, routes: routes, publisher: publisher))
        if let failure = forward(event, context: context, through: stops, announcesLoss: false) { throw failure }
        let handlers = stops.count { $0.inlineCount + $0.deferred.count }
        guard handlers > 0 else {
            // Elsewhere somebody may want it; a publisher that is linked to this one and has no subscriber does not.
            return stops.count { $0.forwarders.count } > 0 ? (0, .unwanted) : nil
        }
        let outcome = deliverNow(event, context: context, to: stops) { count in
            make(count, ([stops.first] + stops.others).flatMap { $0.routes.deferred.map(\.site) })
        }
        return (handlers, outcome)
    }

    private func deliverNow(
        _ event: E,
        context: EventContext,
        to stops: DeliveryStops<E>,
        tracker make: (_ handlers: Int) -> HandlingTracker
    ) -> IncomingOutcome {
        let elsewhere = stops.count { $0.deferred.count }
        var tracker: HandlingTracker?
        if elsewhere > 0 {
            // One more than there are subscribers elsewhere: the inline handlers report together, last.
            let shared = make(elsewhere + 1)
            post(PendingDelivery(event: event, context: context, tracker: shared), to: stops)
            tracker = shared
        }
        let failure = DeliveryThread.current.collectFailures(context: context) { thread in
            callInline(event, at: stops, on: thread)
        }
        if let tracker {
            tracker.handlerReturned(at: nil, failure: failure)
            return .pending
        }
        if let failure { return .failed(failure) }
        return .handled
    }
}
