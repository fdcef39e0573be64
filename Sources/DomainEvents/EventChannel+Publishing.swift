public import Synchronization

extension EventChannel {
    // MARK: - Handlers on this thread, and nothing else

    /// Publishes an event; its context is made only if needed, as when one of its handlers on this thread asks for it.
    @inlinable
    func publish(_ event: E, from publisher: EventPublisher) {
        let first = current.load(ordering: .relaxed)
        // Nothing gets the events: a relaxed load shows every subscription that this thread can know of.
        if first == 0 { return }
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
            if thread.isDelivering { return publishFully(event, from: publisher, causedBy: nil, on: thread) }
            let slot = thread.slot
            var address = first
            while true {
                slot.pointee.setSubscribers(address)
                let now = current.load(ordering: .sequentiallyConsistent)
                if now == address { break }
                // Another thread may have kept the replaced list because this slot named it for a moment.
                slot.pointee.setSubscribers(0)
                sweep()
                address = now
            }
            guard let pointer = UnsafeRawPointer(bitPattern: address) else {
                slot.pointee.setSubscribers(0)
                return
            }
            // The slot named the list while it was current, so it is not released before the slot is empty again.
            Unmanaged<SubscriberList>.fromOpaque(pointer)._withUnsafeGuaranteedRef { subscribers in
                if subscribers.isPlain {
                    thread.isDelivering = true
                    thread.publisher = .passUnretained(publisher)
                    call(subscribers, event, on: thread, from: publisher)
                    leave(address, slot)
                    thread.finish()
                    // The thread's object pointed to the publisher without holding it.
                    withExtendedLifetime(publisher) {}
                } else if subscribers.isLocal {
                    thread.isDelivering = true
                    withUnsafePointer(to: event) {
                        subscribers.post(RawEvent(reading: $0), from: publisher, on: thread)
                    }
                    call(subscribers, event, on: thread, from: publisher)
                    leave(address, slot)
                    thread.finish()
                    withExtendedLifetime(publisher) {}
                } else {
                    leave(address, slot)
                    if forwardAlone(event, from: publisher, ifFull: .drop, on: thread) != nil { return }
                    publishToAll(event, from: publisher, causedBy: nil)
                }
            }
        }
    }

    @inlinable
    func leave(_ address: UInt, _ slot: UnsafeMutablePointer<DeliverySlot>) {
        slot.pointee.setSubscribers(0)
        if current.load(ordering: .sequentiallyConsistent) != address { sweep() }
    }

    /// Calls the inline handlers; the caller keeps the list alive.
    @inlinable
    package func call(
        _ subscribers: SubscriberList,
        _ event: E,
        on thread: DeliveryThread,
        from publisher: EventPublisher
    ) {
        let slot = thread.slot
        guard slot.pointee.gate.load(ordering: .relaxed) == 0 else {
            return callCounted(subscribers, event, on: thread, from: publisher)
        }
        guard subscribers.inlineCount > 0 else { return }
        var index = 0
        repeat {
            subscribers.first[index]._withUnsafeGuaranteedRef { subscriber in
                let gate = subscriber.gate
                slot.pointee.setGate(gate.address)
                if index > 0 { subscribers.first[index - 1]._withUnsafeGuaranteedRef { wakeWaiters(of: $0.gate) } }
                if !gate.isClosed {
                    slot.pointee.gate.store(gate.address | DeliverySlot.isRunning, ordering: .releasing)
                    do {
                        // A channel's inline subscribers are of its own type.
                        try unsafeDowncast(subscriber, to: InlineSubscriber<E>.self).handler(event)
                    } catch {
                        failed(error, at: subscriber, on: thread, from: publisher)
                    }
                }
            }
            index += 1
        } while index < subscribers.inlineCount
        slot.pointee.setGate(0)
        subscribers.first[index - 1]._withUnsafeGuaranteedRef { wakeWaiters(of: $0.gate) }
    }

    /// Called after a call, when the slot no longer names the gate: wakes the tasks that wait for the gate's calls.
    @inlinable
    func wakeWaiters(of gate: CallGate) {
        if gate.state.load(ordering: .sequentiallyConsistent) & CallGate.awaitedBit != 0 { gate.wakeWaiters() }
    }

    /// Calls the inline handlers inside another handler's call: the slot is taken, so the gates count these calls.
    @usableFromInline
    func callCounted(
        _ subscribers: SubscriberList,
        _ event: E,
        on thread: DeliveryThread,
        from publisher: EventPublisher
    ) {
        for subscriber in subscribers.inline where subscriber.gate.enter() {
            do {
                try unsafeDowncast(subscriber, to: InlineSubscriber<E>.self).handler(event)
            } catch {
                failed(error, at: subscriber, on: thread, from: publisher)
            }
            subscriber.gate.exit()
        }
    }

    @usableFromInline
    func failed(
        _ error: any Error,
        at subscriber: AnySubscriber,
        on thread: DeliveryThread,
        from publisher: EventPublisher
    ) {
        if thread.collectsFailures {
            let thrown = ThrownError(error, at: subscriber.site, of: publisher)
            thread.failure = thread.failure?.followed(by: thrown) ?? thrown
        } else if let context = thread.resolvedContext() {
            publisher.publishFailure(of: E.self, named: name, context: context, error: error, site: subscriber.site)
        }
    }

    /// Publishes an event with a given cause, or while another event is in hand.
    @usableFromInline
    func publishFully(
        _ event: E,
        from publisher: EventPublisher,
        causedBy cause: EventContext?,
        on thread: DeliveryThread
    ) {
        guard isReached else { return }
        if forwardAlone(event, causedBy: cause, from: publisher, ifFull: .drop, on: thread) != nil { return }
        publishToAll(event, from: publisher, causedBy: cause)
    }

    /// Publishes an event to receivers of any kind, in other processes and other publishers too.
    @usableFromInline
    func publishToAll(_ event: E, from publisher: EventPublisher, causedBy cause: EventContext?) {
        guard let subscribers = currentSubscribers() else { return }
        let context = publisher.makeContext(causedBy: cause ?? EventContext.current)
        _ = publish(event, context: context, to: subscribers, from: publisher, ifFull: .drop)
    }

    /// Publishes an event whose transaction, if it had one, has ended.
    ///
    /// - Parameter stamp: made when the program published the event.
    func publish(_ event: E, _ stamp: EventStamp, from publisher: EventPublisher) {
        guard let subscribers = currentSubscribers() else { return }
        DeliveryThread.unmanaged._withUnsafeGuaranteedRef { thread in
            guard subscribers.isLocal, !thread.isDelivering else {
                let context = stamp.context(of: publisher.source)
                _ = publish(event, context: context, to: subscribers, from: publisher, ifFull: .drop)
                return
            }
            thread.isDelivering = true
            withUnsafePointer(to: event) {
                subscribers.post(RawEvent(reading: $0), stamp, from: publisher, on: thread)
            }
            call(subscribers, event, on: thread, from: publisher)
            thread.finish()
        }
    }

    // MARK: - One forwarder, and at most a journal

    /// Publishes an event that only one forwarder gets, and besides it at most the publisher's own journal.
    ///
    /// Most events for other processes are like this. The journal must be one that makes events safe at once.
    ///
    /// This counts no reference to the list of receivers: the thread's slot names the list during the call.
    ///
    /// - Parameter cause: the event's cause; if nil, the cause is the event that the calling code handles, if any.
    /// - Returns: The outcome and the event's number; nil if the event was not published: it has other receivers or
    ///   none, or this thread is using another list. Then the caller uses ``currentSubscribers()``.
    @usableFromInline
    func forwardAlone(
        _ event: E,
        causedBy cause: EventContext? = nil,
        from publisher: EventPublisher,
        ifFull: FullOutboxAction,
        on thread: DeliveryThread
    ) -> (outcome: Forwarded, number: UInt64)? {
        let slot = thread.slot
        guard !slot.pointee.isBorrowing, let lent = lendList(to: slot) else { return nil }
        defer { takeBack(lent, from: slot) }
        return lent._withUnsafeGuaranteedRef { list -> (outcome: Forwarded, number: UInt64)? in
            if list.onlyForwarder == nil { return nil }
            func forward(_ context: BorrowedContext) -> Forwarded {
                var outcome: Forwarded?
                if list.isRecorded {
                    outcome = list.forwardRecorded(event, context, ifFull: ifFull)
                } else {
                    var atOnce: HeldEvents?
                    // The forwarder is not bound to a constant, as that would retain it.
                    outcome = list.onlyForwarder?.forward(
                        event,
                        context: context,
                        ifFull: ifFull,
                        receipts: nil,
                        held: &atOnce
                    )
                }
                return outcome ?? publish(event, context: context.context, to: list, from: publisher, ifFull: ifFull)
            }
            // Without a cause, or with one that is in hand, the context needs no reference to anything.
            var borrowed: BorrowedContext?
            if cause == nil, thread.isDelivering {
                borrowed = publisher.makeCausedContext(on: thread)
            } else if cause == nil, EventContext.handledByTask == nil {
                borrowed = BorrowedContext(
                    source: .passUnretained(publisher.source),
                    number: publisher.nextNumber(),
                    nanosecondsSinceEpoch: WallTime.now()
                )
            }
            if let borrowed { return (forward(borrowed), borrowed.number) }
            return publisher.makeContext(causedBy: cause ?? EventContext.current).withBorrowed { context in
                (forward(context), context.number)
            }
        }
    }
}
