extension EventChannel {
    // MARK: - Ways

    /// Publishes through all outboxes, lines and handlers, here and at the publishers that are linked to this one.
    ///
    /// - Parameter intake: unless loss is announced, the handlers here get the event only if every outbox has taken it.
    func publish(
        _ event: E,
        context: EventContext,
        to routes: Routes,
        from publisher: EventPublisher,
        intake: Intake
    ) -> Forwarded {
        if routes.links.isEmpty, !routes.hasSubscribers {
            return forward(event, context: context, through: routes, intake: intake, receipts: nil)
        }
        let here = DeliveryStop(channel: self, routes: routes, publisher: publisher)
        let stops = stops(from: here)
        let outcome = forward(event, context: context, through: stops, intake: intake, receipts: nil)
        switch (outcome, intake) {
        case (.taken, _), (_, .announced): if routes.hasSubscribers { deliver(event, context: context, to: stops) }
        default: break
        }
        return outcome
    }

    /// Every publisher that the event reaches, each once, also where links form a circle.
    private func stops(from first: DeliveryStop) -> DeliveryStops {
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
        through stops: DeliveryStops,
        intake: Intake,
        receipts: ReceiptLedger?
    ) -> Forwarded {
        var outcome = Forwarded.taken
        stops.forEach { stop in
            let next = forward(event, context: context, through: stop.routes, intake: intake, receipts: receipts)
            outcome = outcome.or(next)
        }
        return outcome
    }

    private func forward(
        _ event: E,
        context: EventContext,
        through routes: Routes,
        intake: Intake,
        receipts: ReceiptLedger?
    ) -> Forwarded {
        var outcome = Forwarded.taken
        for forwarder in routes.forwarders {
            outcome = outcome.or(forwarder.forward(event, context: context, intake: intake, receipts: receipts))
        }
        return outcome
    }

    // MARK: - Handlers

    /// Delivers now, or behind the event that this thread is delivering.
    private func deliver(_ event: E, context: EventContext, to stops: DeliveryStops) {
        let thread = DeliveryThread.current
        if thread.isDelivering {
            let publish = withUnsafePointer(to: event) { event in
                spares.take(RawEvent(reading: event), context: context, stops: stops)
            }
            thread.deferDelivery(publish)
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
        to stops: DeliveryStops,
        on thread: DeliveryThread
    ) {
        withUnsafePointer(to: event) { stops.post(RawEvent(reading: $0), context: context, tracker: nil) }
        callInline(event, at: stops, on: thread)
    }

    private func callInline(_ event: E, at stops: DeliveryStops, on thread: DeliveryThread) {
        stops.forEach { stop in
            guard stop.routes.inlineCount > 0 else { return }
            // Every stop's channel is of this event's type.
            unsafeDowncast(stop.channel, to: EventChannel<E>.self).call(
                stop.routes,
                event,
                on: thread,
                from: stop.publisher
            )
        }
    }

    // MARK: - Events that somebody waits for

    /// Hands an event that another process published to the subscribers here.
    ///
    /// Queues and tasks get it first, then the inline handlers run: on the calling thread, or behind earlier ones in their lane.
    /// `completion` is asked for only if something is left to wait for.
    /// - Parameter lane: where the inline handlers of events of the same origin run; nil for the calling thread.
    package func deliverIncoming(
        _ event: E,
        context: EventContext,
        from publisher: EventPublisher,
        lane: (any InlineLane)? = nil,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) -> IncomingOutcome {
        guard let routes = currentRoutes(), routes.hasSubscribers else { return .unwanted }
        if routes.isInlineOnly, lane?.enter() ?? true {
            let failure = DeliveryThread.current.collectFailures(context: context) { thread in
                call(routes, event, on: thread, from: publisher)
            }
            lane?.leave()
            return failure.map { .failed($0) } ?? .handled(handlers: routes.inlineCount)
        }
        let here = DeliveryStop(channel: self, routes: routes, publisher: publisher)
        let stops = stops(from: here)
        // The router has passed the event on to the processes of this publisher.
        for stop in stops.others {
            _ = forward(event, context: context, through: stop.routes, intake: .announced, receipts: nil)
        }
        let handlers = stops.count { $0.inlineCount + $0.deferred.count }
        guard handlers > 0 else { return .unwanted }
        return deliverNow(event, context: context, to: stops, handlers: handlers, lane: lane) {
            HandlingTracker(handlers: $0, completion: completion(handlers))
        }
    }

    /// Delivers an event of this process to whoever wants it, for somebody who waits for the outcome.
    ///
    /// - Parameter receipts: told of the other processes that get it.
    /// - Returns: How many handlers it has here, and what became of those on this thread.
    func deliver(
        _ event: E,
        context: EventContext,
        from publisher: EventPublisher,
        receipts: ReceiptLedger,
        tracker make: (_ trackers: Int, _ handlers: Int, _ sites: [SubscriptionSite]) -> HandlingTracker
    ) throws(DeliveryError) -> IncomingOutcome {
        guard let routes = currentRoutes() else { return .unwanted }
        let stops = stops(from: DeliveryStop(channel: self, routes: routes, publisher: publisher))
        let outcome = forward(event, context: context, through: stops, intake: .thrown, receipts: receipts)
        if case .failed(let failure) = outcome { throw failure }
        let handlers = stops.count { $0.inlineCount + $0.deferred.count }
        guard handlers > 0 else { return .unwanted }
        return deliverNow(event, context: context, to: stops, handlers: handlers, lane: nil) { count in
            make(count, handlers, stops.all.flatMap { $0.routes.deferred.map(\.site) })
        }
    }

    private func deliverNow(
        _ event: E,
        context: EventContext,
        to stops: DeliveryStops,
        handlers: Int,
        lane: (any InlineLane)?,
        tracker make: (_ handlers: Int) -> HandlingTracker
    ) -> IncomingOutcome {
        let elsewhere = stops.count { $0.deferred.count }
        let isInline = handlers > elsewhere
        let isHere = isInline && lane?.enter() ?? true
        let isElsewhere = isInline && !isHere
        var tracker: HandlingTracker?
        if elsewhere > 0 || isElsewhere {
            // One more than there are subscribers elsewhere: the inline handlers report together, last.
            let shared = make(elsewhere + 1)
            if elsewhere > 0 { lane?.touch() }
            withUnsafePointer(to: event) { stops.post(RawEvent(reading: $0), context: context, tracker: shared) }
            tracker = shared
        }
        if isElsewhere, let lane, let tracker {
            lane.append {
                tracker.handlerReturned(at: nil, failure: self.callInline(event, context: context, at: stops))
            }
            return .pending
        }
        var failure: (any Error)?
        if isHere {
            failure = callInline(event, context: context, at: stops)
            lane?.leave()
        }
        if let tracker {
            tracker.handlerReturned(at: nil, failure: failure)
            return .pending
        }
        if let failure { return .failed(failure) }
        return .handled(handlers: handlers)
    }

    private func callInline(_ event: E, context: EventContext, at stops: DeliveryStops) -> (any Error)? {
        DeliveryThread.current.collectFailures(context: context) { thread in
            callInline(event, at: stops, on: thread)
        }
    }
}
