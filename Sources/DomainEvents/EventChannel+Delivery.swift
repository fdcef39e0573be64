extension EventChannel {
    // MARK: - Ways

    /// Publishes through all outboxes, lines and handlers, here and at the publishers that are linked to this one.
    ///
    /// - Parameter intake: unless it is `announced`, the subscribers here get the event only if every outbox has taken
    ///   it.
    func publish(
        _ event: E,
        context: EventContext,
        to routes: Routes,
        from publisher: EventPublisher,
        intake: Intake
    ) -> Forwarded {
        if routes.links.isEmpty, !routes.hasSubscribers, routes.forwarders.count == 1 {
            var atOnce: [any HeldEvent]?
            return routes.forwarders[0]
                .forward(event, context: context, intake: intake, receipts: nil, held: &atOnce)
        }
        let stops = stops(from: DeliveryStop(channel: self, routes: routes, publisher: publisher))
        let forwarders = stops.forwarders
        var outcome = Forwarded.taken
        let isForAll = handOut(event, context: context, to: stops, isHeld: forwarders.count > 1) { held in
            outcome = forward(event, context: context, to: forwarders, intake: intake, receipts: nil, held: &held)
            return outcome.isTaken || intake == .announced
        } tracker: {
            nil
        }
        if isForAll { callInline(event, context: context, at: stops) }
        return outcome
    }

    /// Every publisher that the event reaches, each once, even if links form a circle.
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

    /// Puts the event into every outbox, then into every line here, and only then lets it leave; so no subscriber in a
    /// line sees an effect before its cause, however soon another subscriber answers.
    ///
    /// Without lines the event leaves at once: an inline handler may take any time, or wait for an answer.
    ///
    /// - Parameters:
    ///   - isHeld: whether the event has to lie in all outboxes before it leaves the first, even without lines.
    ///   - forward: puts the event into the outboxes, held if `held` is not nil; returns whether the subscribers here
    ///     get it too.
    ///   - tracker: called if there are lines, before they get the event.
    /// - Returns: Whether the subscribers here get it.
    private func handOut(
        _ event: E,
        context: EventContext,
        to stops: DeliveryStops,
        isHeld: Bool = false,
        forward: (_ held: inout [any HeldEvent]?) -> Bool,
        tracker: () -> HandlingTracker?
    ) -> Bool {
        withUnsafePointer(to: event) { event in
            let lines = stops.lines(for: RawEvent(reading: event))
            var held: [any HeldEvent]?
            if isHeld || lines != nil { held = [] }
            let isForAll = forward(&held)
            func release() {
                guard let count = held?.count else { return }
                for index in 0..<count { held?[index].release() }
            }
            if isForAll, let lines {
                lines.post(context, tracker(), isTakenOver: release)
            } else {
                release()
            }
            for event in held ?? [] { event.flush() }
            return isForAll
        }
    }

    /// Puts the event into every outbox that wants it.
    ///
    /// - Returns: The first outcome other than `taken`, if there is one.
    private func forward(
        _ event: E,
        context: EventContext,
        to forwarders: [any EventForwarder],
        intake: Intake,
        receipts: ReceiptLedger?,
        held: inout [any HeldEvent]?
    ) -> Forwarded {
        var outcome = Forwarded.taken
        for forwarder in forwarders {
            let next = forwarder.forward(event, context: context, intake: intake, receipts: receipts, held: &held)
            outcome = outcome.or(next)
        }
        return outcome
    }

    // MARK: - Handlers on this thread

    /// Calls the inline handlers now, or after the event that this thread is delivering.
    private func callInline(_ event: E, context: EventContext, at stops: DeliveryStops) {
        guard stops.count(\.inlineCount) > 0 else { return }
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
        callInline(event, at: stops, on: thread)
        thread.finish()
    }

    func callInline(_ event: E, at stops: DeliveryStops, on thread: DeliveryThread) {
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

    // MARK: - Awaited events

    /// Hands an event that another process published to the subscribers here.
    ///
    /// Queues and tasks get the event first. Then the inline handlers run: on the calling thread, or behind earlier
    /// ones in their lane. `completion` is called only if a handler is left to wait for.
    /// - Parameters:
    ///   - read: returns the event; called if there are subscribers, and before any outbox holds the event.
    ///   - kept: the routes of the event before; those of this one are left there.
    ///   - lane: where the inline handlers of events from the same link run; nil for the calling thread.
    ///   - passOn: puts the event into the outboxes of other processes, held if `held` is not nil; returns whether the
    ///     subscribers here get it too. Called once, whatever becomes of the event here.
    /// - Throws: What `read` throws.
    package func deliverIncoming(
        _ read: () throws -> E,
        context: EventContext,
        from publisher: EventPublisher,
        keeping kept: inout KeptRoutes,
        lane: (any InlineLane)? = nil,
        passOn: (_ held: inout [any HeldEvent]?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) rethrows -> IncomingOutcome {
        guard let present = currentRoutes(in: &kept) else {
            var atOnce: [any HeldEvent]?
            _ = passOn(&atOnce)
            return .unwanted
        }
        return try present._withUnsafeGuaranteedRef { routes in
            try deliverIncoming(
                read,
                context: context,
                from: publisher,
                to: routes,
                lane: lane,
                passOn: passOn,
                completion: completion
            )
        }
    }

    private func deliverIncoming(
        _ read: () throws -> E,
        context: EventContext,
        from publisher: EventPublisher,
        to routes: Routes,
        lane: (any InlineLane)?,
        passOn: (_ held: inout [any HeldEvent]?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) rethrows -> IncomingOutcome {
        var atOnce: [any HeldEvent]?
        guard routes.hasSubscribers else {
            _ = passOn(&atOnce)
            return .unwanted
        }
        if routes.isInlineOnly {
            guard passOn(&atOnce) else { return .unwanted }
            let event = try read()
            // The common case counts no references. Counting those to a publisher is slow, as it has weak ones too.
            if lane?.enter() ?? true {
                let failure = DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
                    thread.collectFailures(context: context) { thread in
                        call(routes, event, on: thread, from: publisher)
                    }
                }
                lane?.leave()
                return failure.map { .failed($0) } ?? .handled(handlers: routes.inlineCount)
            }
            let here = DeliveryStops(first: DeliveryStop(channel: self, routes: routes, publisher: publisher))
            return callInline(event, context: context, at: here, handlers: routes.inlineCount, lane: lane) {
                HandlingTracker(handlers: 1, completion: completion(routes.inlineCount))
            }
        }
        let event: E
        do {
            event = try read()
        } catch {
            _ = passOn(&atOnce)
            throw error
        }
        let stops = stops(from: DeliveryStop(channel: self, routes: routes, publisher: publisher))
        let handlers = stops.count { $0.inlineCount + $0.deferred.count }
        // The router passes the event on to the processes of this publisher.
        let forwarders = stops.others.flatMap(\.routes.forwarders)
        var tracker: HandlingTracker?
        let isForAll = handOut(event, context: context, to: stops, isHeld: !forwarders.isEmpty) { held in
            let isForAll = passOn(&held)
            if isForAll {
                _ = forward(event, context: context, to: forwarders, intake: .announced, receipts: nil, held: &held)
            }
            return isForAll
        } tracker: {
            lane?.touch()
            let made = HandlingTracker(handlers: stops.partsOfDelivery, completion: completion(handlers))
            tracker = made
            return made
        }
        guard isForAll, handlers > 0 else { return .unwanted }
        return callInline(event, context: context, at: stops, handlers: handlers, lane: lane, tracker) {
            HandlingTracker(handlers: 1, completion: completion(handlers))
        }
    }

    /// Delivers an event of this process here and elsewhere, for a caller that waits for the outcome.
    ///
    /// - Parameters:
    ///   - receipts: learns the other processes that get the event.
    ///   - hasLeft: called when the event lies in every outbox and line, before inline handlers run.
    /// - Returns: How many handlers the event has here, and what became of those on this thread.
    func deliver(
        _ event: E,
        context: EventContext,
        from publisher: EventPublisher,
        receipts: ReceiptLedger,
        hasLeft: () -> Void,
        tracker make: (_ trackers: Int, _ handlers: Int, _ sites: [SubscriptionSite]) -> HandlingTracker
    ) throws(DeliveryError) -> IncomingOutcome {
        guard let routes = currentRoutes() else { return .unwanted }
        let stops = stops(from: DeliveryStop(channel: self, routes: routes, publisher: publisher))
        let handlers = stops.count { $0.inlineCount + $0.deferred.count }
        let forwarders = stops.forwarders
        var outcome = Forwarded.taken
        var tracker: HandlingTracker?
        let isForAll = handOut(event, context: context, to: stops, isHeld: forwarders.count > 1) { held in
            outcome = forward(event, context: context, to: forwarders, intake: .thrown, receipts: receipts, held: &held)
            return outcome.isTaken
        } tracker: {
            let made = make(stops.partsOfDelivery, handlers, stops.all.flatMap { $0.routes.deferred.map(\.site) })
            tracker = made
            return made
        }
        hasLeft()
        if case .failed(let failure) = outcome { throw failure.identified(by: context.id) }
        guard isForAll, handlers > 0 else { return .unwanted }
        return callInline(event, context: context, at: stops, handlers: handlers, lane: nil, tracker) {
            make(1, handlers, [])
        }
    }

    /// Calls the inline handlers of an awaited event.
    ///
    /// - Parameters:
    ///   - handlers: how many handlers there are, including those in lines.
    ///   - lane: where they run; nil for this thread.
    ///   - tracker: waits for the handlers in lines; nil if there are none.
    ///   - make: makes a tracker for inline handlers that run later, if there are no lines.
    private func callInline(
        _ event: E,
        context: EventContext,
        at stops: DeliveryStops,
        handlers: Int,
        lane: (any InlineLane)?,
        _ tracker: HandlingTracker? = nil,
        tracker make: () -> HandlingTracker
    ) -> IncomingOutcome {
        guard stops.count(\.inlineCount) > 0 else {
            tracker?.handlerReturned(at: nil, failure: nil)
            return .pending
        }
        guard lane?.enter() ?? true else {
            let tracker = tracker ?? make()
            lane?.append { tracker.handlerReturned(at: nil, failure: self.failure(of: event, context, at: stops)) }
            return .pending
        }
        let failure = failure(of: event, context, at: stops)
        lane?.leave()
        if let tracker {
            tracker.handlerReturned(at: nil, failure: failure)
            return .pending
        }
        return failure.map { .failed($0) } ?? .handled(handlers: handlers)
    }

    /// Calls the inline handlers; returns the error of the first one that throws.
    private func failure(of event: E, _ context: EventContext, at stops: DeliveryStops) -> ThrownError? {
        DeliveryThread.current.collectFailures(context: context) { thread in
            callInline(event, at: stops, on: thread)
        }
    }
}
