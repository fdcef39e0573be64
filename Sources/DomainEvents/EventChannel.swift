public import Locks

/// One event type's subscribers and ways out of the process, within one publisher.
@usableFromInline
package class AnyEventChannel: @unchecked Sendable {
    // Sendable: everything mutable is in the subclass, guarded by its lock.
    @usableFromInline package let name: String
    package let eventType: any DomainEvent.Type

    init(name: String, eventType: any DomainEvent.Type) {
        self.name = name
        self.eventType = eventType
    }

    package var hasSubscribers: Bool { false }
    func setForwarders(_ forwarders: [any EventForwarder]) {}
    func removeSubscriber(behind gate: CallGate) {}
    func publisherWasReleased() {}
}

/// The typed channel: the hot path from `publish` to the handlers.
@usableFromInline
package final class EventChannel<E: DomainEvent>: AnyEventChannel, @unchecked Sendable {
    // Sendable: `routes` is guarded by `lock`; the snapshots themselves never change.

    /// Who gets an event, as one immutable value: publishing takes it under the lock and works on it outside.
    @usableFromInline
    final class Routes: Sendable {
        @usableFromInline let inline: [InlineSubscriber<E>]
        @usableFromInline let deferred: [DeferredSubscriber<E>]
        @usableFromInline let forwarders: [any EventForwarder]

        init(
            inline: [InlineSubscriber<E>] = [],
            deferred: [DeferredSubscriber<E>] = [],
            forwarders: [any EventForwarder] = []
        ) {
            self.inline = inline
            self.deferred = deferred
            self.forwarders = forwarders
        }

        @usableFromInline var hasSubscribers: Bool { !inline.isEmpty || !deferred.isEmpty }
    }

    @usableFromInline let lock = Lock()
    // Read and set whole, under the lock: the exclusivity check has nothing to find.
    @exclusivity(unchecked) @usableFromInline var routes = Routes()

    init(name: String, forwarders: [any EventForwarder]) {
        super.init(name: name, eventType: E.self)
        routes = Routes(forwarders: forwarders)
    }

    @inlinable
    func currentRoutes() -> Routes {
        lock.lock()
        let current = routes
        lock.unlock()
        return current
    }

    // MARK: - Publishing

    @inlinable
    package func publish(_ event: E, from publisher: EventPublisher, causedBy cause: EventContext? = nil) {
        let routes = currentRoutes()
        let thread = DeliveryThread.current
        if routes.forwarders.isEmpty, routes.deferred.isEmpty, cause == nil, !thread.isDelivering {
            guard !routes.inline.isEmpty else { return }
            // The common case: handlers on this thread, and a context only if one of them asks for it.
            thread.isDelivering = true
            thread.publisher = .passUnretained(publisher)
            call(routes.inline, event, on: thread, from: publisher)
            thread.finish()
            // The thread has pointed to the publisher without holding it.
            withExtendedLifetime(publisher) {}
            return
        }
        publish(event, to: routes, from: publisher, causedBy: cause, on: thread)
    }

    @usableFromInline
    func publish(
        _ event: E,
        to routes: Routes,
        from publisher: EventPublisher,
        causedBy cause: EventContext?,
        on thread: DeliveryThread
    ) {
        let context = publisher.makeContext(
            causedBy: cause ?? thread.resolvedContext() ?? EventContext.handledByTask
        )
        // Into every outbox before any local handler runs: nobody sees an effect before its cause.
        for forwarder in routes.forwarders { _ = forwarder.forward(event, context: context, announcesLoss: true) }
        deliver(event, context: context, to: routes, from: publisher, on: thread)
    }

    /// Publishes for a caller who wants to know: an event that some outbox does not take is delivered to nobody here.
    func send(_ event: E, from publisher: EventPublisher) throws(DeliveryError) -> EventID {
        let routes = currentRoutes()
        let thread = DeliveryThread.current
        let context = publisher.makeContext(causedBy: thread.resolvedContext() ?? EventContext.handledByTask)
        for forwarder in routes.forwarders {
            if let failure = forwarder.forward(event, context: context, announcesLoss: false) { throw failure }
        }
        deliver(event, context: context, to: routes, from: publisher, on: thread)
        return context.id
    }

    /// Delivers here: now, or behind the event that this thread is delivering.
    private func deliver(
        _ event: E,
        context: EventContext,
        to routes: Routes,
        from publisher: EventPublisher,
        on thread: DeliveryThread
    ) {
        guard routes.hasSubscribers else { return }
        if thread.isDelivering {
            thread.deferDelivery { [self] in
                thread.context = context
                hand(event, context: context, to: routes, from: publisher, on: thread)
            }
            return
        }
        thread.isDelivering = true
        thread.context = context
        hand(event, context: context, to: routes, from: publisher, on: thread)
        thread.finish()
    }

    private func hand(
        _ event: E,
        context: EventContext,
        to routes: Routes,
        from publisher: EventPublisher,
        on thread: DeliveryThread
    ) {
        for subscriber in routes.deferred { subscriber.receive(event, context: context, tracker: nil) }
        call(routes.inline, event, on: thread, from: publisher)
    }

    @inlinable
    func call(
        _ subscribers: [InlineSubscriber<E>],
        _ event: E,
        on thread: DeliveryThread,
        from publisher: EventPublisher
    ) {
        for subscriber in subscribers where subscriber.gate.enter() {
            do {
                try subscriber.handler(event)
            } catch {
                failed(error, on: thread, from: publisher)
            }
            subscriber.gate.exit()
        }
    }

    @usableFromInline
    func failed(_ error: any Error, on thread: DeliveryThread, from publisher: EventPublisher) {
        guard let context = thread.resolvedContext() else { return }
        publisher.publishFailure(of: E.self, context: context, error: error)
    }

    // MARK: - Events from other processes

    /// Hands an event that another process published to the subscribers here.
    ///
    /// Queues and tasks get it first, then the inline handlers run on the calling thread. `completion` is asked for only if
    /// something is left to wait for.
    package func deliverIncoming(
        _ event: E,
        context: EventContext,
        from publisher: EventPublisher,
        completion: () -> any IncomingCompletion
    ) -> IncomingOutcome {
        let routes = currentRoutes()
        guard routes.hasSubscribers else { return .unwanted }
        var tracker: IncomingTracker?
        if !routes.deferred.isEmpty {
            // One more than there are subscribers elsewhere: the inline handlers report together, last.
            let shared = IncomingTracker(handlers: routes.deferred.count + 1, completion: completion())
            for subscriber in routes.deferred { subscriber.receive(event, context: context, tracker: shared) }
            tracker = shared
        }
        var failure: (any Error)?
        if !routes.inline.isEmpty {
            let thread = DeliveryThread.current
            thread.run(context: context) {
                for subscriber in routes.inline where subscriber.gate.enter() {
                    do {
                        try subscriber.handler(event)
                    } catch {
                        failure = failure ?? error
                    }
                    subscriber.gate.exit()
                }
            }
        }
        if let tracker {
            tracker.handlerReturned(failure: failure)
            return .pending
        }
        if let failure { return .failed(failure) }
        return .handled
    }

    // MARK: - Subscribers

    package override var hasSubscribers: Bool { currentRoutes().hasSubscribers }

    func add(_ subscriber: InlineSubscriber<E>) {
        lock.withLock {
            routes = Routes(
                inline: routes.inline + [subscriber],
                deferred: routes.deferred,
                forwarders: routes.forwarders
            )
        }
    }

    func add(_ subscriber: DeferredSubscriber<E>) {
        lock.withLock {
            routes = Routes(
                inline: routes.inline,
                deferred: routes.deferred + [subscriber],
                forwarders: routes.forwarders
            )
        }
    }

    override func removeSubscriber(behind gate: CallGate) {
        // What is removed may hold the last reference to a user's object, whose deinit must not run under the lock.
        let removed = lock.withLock {
            let before = routes
            routes = Routes(
                inline: before.inline.filter { $0.gate !== gate },
                deferred: before.deferred.filter { $0.gate !== gate },
                forwarders: before.forwarders
            )
            return before
        }
        for subscriber in removed.deferred where subscriber.gate === gate { subscriber.discardWaiting() }
        withExtendedLifetime(removed) {}
    }

    override func setForwarders(_ forwarders: [any EventForwarder]) {
        // The routes before are let go under the lock, as those that follow hold the same subscribers. Kept any longer they
        // could be the last to hold one that is removed meanwhile, and its end would run under the callers' locks.
        lock.withLock {
            routes = Routes(inline: routes.inline, deferred: routes.deferred, forwarders: forwarders)
        }
    }

    override func publisherWasReleased() {
        for subscriber in currentRoutes().deferred { subscriber.publisherWasReleased() }
    }

    var forwarders: [any EventForwarder] { currentRoutes().forwarders }
}
