extension EventChannel {
    // MARK: - Ways

    /// Publishes to all outboxes, strands and handlers of this publisher and of the publishers that are linked to it.
    ///
    /// - Parameter ifFull: with `drop` the subscribers in this process get the event in any case, otherwise only if
    ///   every outbox has taken it.
    @inline(__always)
    func publish(
        _ event: E,
        context: EventContext,
        to subscribers: SubscriberList,
        from publisher: EventPublisher,
        ifFull: FullOutboxAction
    ) -> Forwarded {
        let destinations = destinations(
            from: Destination(channel: self, subscribers: subscribers, publisher: publisher)
        )
        return publish(event, context: context, to: destinations, ifFull: ifFull)
    }

    /// Publishes to these destinations, for a caller that has to know them.
    func publish(
        _ event: E,
        context: EventContext,
        to destinations: Destinations,
        ifFull: FullOutboxAction
    ) -> Forwarded {
        let forwarders = destinations.forwarders
        var outcome = Forwarded.taken
        let isForAll = handOut(event, context: context, to: destinations, isHeld: forwarders.count > 1) { held in
            outcome = forward(event, context: context, to: forwarders, ifFull: ifFull, receipts: nil, held: &held)
            return outcome.isTaken || ifFull == .drop
        } tracker: {
            nil
        }
        if isForAll { callInline(event, context: context, at: destinations) }
        return outcome
    }

    /// Every publisher that the event reaches, each once, even if links form a circle.
    func destinations(from first: Destination) -> Destinations {
        if first.subscribers.links.isEmpty { return Destinations(first: first) }
        var destinations = [first]
        var reached: Set<ObjectIdentifier> = [ObjectIdentifier(first.publisher)]
        var next = 0
        while next < destinations.count {
            for link in destinations[next].subscribers.links {
                guard let publisher = link.publisher, reached.insert(ObjectIdentifier(publisher)).inserted else {
                    continue
                }
                let channel = publisher.channel(of: E.self)
                guard let subscribers = channel.currentSubscribers() else { continue }
                destinations.append(Destination(channel: channel, subscribers: subscribers, publisher: publisher))
            }
            next += 1
        }
        destinations.removeFirst()
        return Destinations(first: first, others: destinations)
    }

    /// Puts the event into every outbox, then into every strand of this process, and only then lets it leave the
    /// outboxes; so no subscriber in a strand sees an effect before its cause, however soon another process answers.
    ///
    /// The event leaves before the inline handlers run. If a journal has not recorded the event, a report says so; the
    /// event leaves before the report's handlers run, too. All these handlers may take any time, or wait for an answer.
    ///
    /// - Parameters:
    ///   - payload: the bytes in which the event came from another process.
    ///   - isHeld: whether the event has to lie in all outboxes before it leaves any, even if no strand gets it.
    ///   - forward: puts the event into the outboxes, and holds it there if `held` is not nil; returns whether the
    ///     subscribers here get it too.
    ///   - tracker: makes the event's tracker; called just before strands get the event, and only then.
    /// - Returns: Whether the subscribers here get the event.
    private func handOut(
        _ event: E,
        payload: UnsafeRawBufferPointer? = nil,
        context: EventContext,
        to destinations: Destinations,
        isHeld: Bool = false,
        forward: (_ held: inout HeldEvents?) -> Bool,
        tracker: () -> HandlingTracker?
    ) -> Bool {
        withUnsafePointer(to: event) { event in
            let strands = destinations.strands(for: RawEvent(reading: event, payload: payload))
            var held: HeldEvents?
            if isHeld || strands != nil { held = HeldEvents(areRecorded: destinations.isRecorded) }
            let isForAll = forward(&held)
            if isForAll, let strands {
                strands.post(context, owedTo: held?.owed ?? [], tracker()) { outcome in
                    held?.release()
                    guard outcome.contains(.unrecorded) else { return }
                    held?.flush()
                    held = nil
                }
            } else {
                held?.release()
            }
            held?.flush()
            return isForAll
        }
    }

    /// Puts the event into every outbox that wants it.
    ///
    /// Unless `ifFull` is `drop`, several forwarders first keep room for the event. If one of them has no room, none
    /// takes the event.
    ///
    /// - Returns: The first outcome other than `taken`; `taken` if there is no other outcome.
    private func forward(
        _ event: E,
        context: EventContext,
        to forwarders: [any EventForwarder],
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger?,
        held: inout HeldEvents?
    ) -> Forwarded {
        let keepsRoomFirst = forwarders.count > 1 && ifFull != .drop
        if keepsRoomFirst { held?.keepsRoomFirst = true }
        var outcome = Forwarded.taken
        for forwarder in forwarders {
            let next = context.withBorrowed {
                forwarder.forward(event, context: $0, ifFull: ifFull, receipts: receipts, held: &held)
            }
            outcome = outcome.or(next)
            if keepsRoomFirst, !next.isTaken { break }
        }
        guard keepsRoomFirst, let rooms = held?.takeRooms() else { return outcome }
        guard outcome.isTaken else {
            for room in rooms { room.giveBack() }
            return outcome
        }
        for room in rooms { outcome = outcome.or(room.use(&held)) }
        return outcome
    }

    // MARK: - Handlers on this thread

    /// Calls the inline handlers now, or when this thread has delivered the event in hand.
    private func callInline(_ event: E, context: EventContext, at destinations: Destinations) {
        guard destinations.count(\.inlineCount) > 0 else { return }
        let thread = DeliveryThread.current
        if thread.isDelivering {
            let publish = withUnsafePointer(to: event) { event in
                spares.take(RawEvent(reading: event), context: context, destinations: destinations)
            }
            thread.deferDelivery(publish)
            return
        }
        thread.isDelivering = true
        thread.context = context
        callInline(event, at: destinations, on: thread)
        thread.finish()
    }

    func callInline(_ event: E, at destinations: Destinations, on thread: DeliveryThread) {
        destinations.forEach { destination in
            guard destination.subscribers.inlineCount > 0 else { return }
            // Every destination's channel is of this event's type.
            unsafeDowncast(destination.channel, to: EventChannel<E>.self).call(
                destination.subscribers,
                event,
                on: thread,
                from: destination.publisher
            )
        }
    }

    // MARK: - Awaited events

    /// Hands an event of another process to the subscribers in this process.
    ///
    /// Queues and tasks get the event first. Then the inline handlers run: on the calling thread, or in their strand
    /// after those of earlier events. `completion` makes the object that learns when the last handler has returned; it
    /// is called only if a handler may return later than this call.
    /// - Parameters:
    ///   - payload: the bytes in which the event came, which a journal records; nil if they are not at hand.
    ///   - read: returns the event; called if there are subscribers, and never while an outbox holds the event back.
    ///   - strand: where the inline handlers of events from the same link run; nil for the calling thread.
    ///   - passOn: puts the event into other processes' outboxes, and holds it there if `held` is not nil; returns
    ///     whether the subscribers here get it too. This is called once, whatever becomes of the event here.
    /// - Throws: What `read` throws.
    package func deliverIncoming<Failure: Error>(
        payload: UnsafeRawBufferPointer?,
        _ read: () throws(Failure) -> E,
        context: EventContext,
        from publisher: EventPublisher,
        strand: (any InlineStrand)? = nil,
        passOn: (_ held: inout HeldEvents?) -> Bool,
        completion: (_ handlers: Int) -> any HandlingCompletion
    ) throws(Failure) -> IncomingOutcome {
        var atOnce: HeldEvents?
        guard let subscribers = currentSubscribers(), subscribers.hasSubscribers else {
            _ = passOn(&atOnce)
            return .unwanted
        }
        let event: E
        do throws(Failure) {
            event = try read()
        } catch {
            _ = passOn(&atOnce)
            throw error
        }
        let destinations = destinations(
            from: Destination(channel: self, subscribers: subscribers, publisher: publisher)
        )
        let handlers = destinations.count(\.handlers)
        // The router itself passes the event on to the peers of this publisher.
        let forwarders = destinations.others.flatMap(\.subscribers.forwarders)
        var tracker: HandlingTracker?
        let isForAll = handOut(
            event,
            payload: payload,
            context: context,
            to: destinations,
            isHeld: !forwarders.isEmpty
        ) { held in
            let isForAll = passOn(&held)
            if isForAll {
                _ = forward(event, context: context, to: forwarders, ifFull: .drop, receipts: nil, held: &held)
            }
            return isForAll
        } tracker: {
            strand?.touch()
            let made = HandlingTracker(handlers: destinations.partsOfDelivery, completion: completion(handlers))
            tracker = made
            return made
        }
        guard isForAll, handlers > 0 else { return .unwanted }
        return callInline(event, context: context, at: destinations, handlers: handlers, strand: strand, tracker) {
            HandlingTracker(handlers: 1, completion: completion(handlers))
        }
    }

    /// Delivers an event of this process, in this process and in others, for a caller that waits for the outcome.
    ///
    /// - Parameters:
    ///   - ifFull: not `drop`.
    ///   - receipts: learns which other processes get the event.
    ///   - hasLeft: called before inline handlers run, with these handlers, when the event has left or goes nowhere.
    /// - Returns: What became of the event in this process; `pending` if the tracker will report that. Nil if no
    ///   subscriber has got the event, because the caller has to wait for room.
    func deliver(
        _ event: E,
        context: EventContext,
        to destinations: Destinations,
        ifFull: FullOutboxAction,
        receipts: ReceiptLedger,
        hasLeft: (_ inline: [AnySubscriber]) -> Void,
        tracker make: (_ trackers: Int, _ handlers: Int, _ sites: [SubscriptionSite]) -> HandlingTracker
    ) throws(DeliveryError) -> IncomingOutcome? {
        let handlers = destinations.count(\.handlers)
        let forwarders = destinations.forwarders
        var outcome = Forwarded.taken
        var tracker: HandlingTracker?
        let isForAll = handOut(event, context: context, to: destinations, isHeld: forwarders.count > 1) { held in
            outcome = forward(event, context: context, to: forwarders, ifFull: ifFull, receipts: receipts, held: &held)
            return outcome.isTaken
        } tracker: {
            let made = make(destinations.partsOfDelivery, handlers, destinations.strandSites)
            tracker = made
            return made
        }
        if case .awaitsRoom = outcome { return nil }
        hasLeft(isForAll && destinations.hasInline ? destinations.all.flatMap { $0.subscribers.inline } : [])
        if case .failed(let failure) = outcome { throw failure.identified(by: context.id) }
        guard isForAll, handlers > 0 else { return .unwanted }
        return callInline(event, context: context, at: destinations, handlers: handlers, strand: nil, tracker) {
            make(1, handlers, [])
        }
    }

    /// Calls the inline handlers of an event for which a caller or a process waits.
    ///
    /// - Parameters:
    ///   - handlers: how many handlers there are, including those in strands.
    ///   - strand: where the inline handlers run; nil for this thread.
    ///   - tracker: waits for the handlers in strands; nil if there are no strands.
    ///   - make: makes a tracker for inline handlers that run later; called only if `tracker` is nil.
    private func callInline(
        _ event: E,
        context: EventContext,
        at destinations: Destinations,
        handlers: Int,
        strand: (any InlineStrand)?,
        _ tracker: HandlingTracker? = nil,
        tracker make: () -> HandlingTracker
    ) -> IncomingOutcome {
        guard destinations.count(\.inlineCount) > 0 else {
            tracker?.handlerReturned(at: nil, failure: nil)
            return .pending
        }
        guard strand?.enter() ?? true else {
            let tracker = tracker ?? make()
            strand?.append {
                tracker.handlerReturned(at: nil, failure: self.failure(of: event, context, at: destinations))
            }
            return .pending
        }
        let failure = failure(of: event, context, at: destinations)
        strand?.leave()
        if let tracker {
            tracker.handlerReturned(at: nil, failure: failure)
            return .pending
        }
        return failure.map { .failed($0) } ?? .handled(handlers: handlers)
    }

    /// Calls the inline handlers; returns the error of the first one that throws.
    private func failure(of event: E, _ context: EventContext, at destinations: Destinations) -> ThrownError? {
        withUnsafePointer(to: context) { context in
            DeliveryThread.current.collectFailures(context: BorrowedContext(context)) { thread in
                callInline(event, at: destinations, on: thread)
            }
        }
    }
}
