public import Locks

/// What the calling thread is delivering: the event in hand, and the events that its handlers published meanwhile.
///
/// Each thread has one such object, in thread-specific storage. Other threads touch only the object's slot.
@usableFromInline
package final class DeliveryThread {
    @inlinable package var isDelivering: Bool {
        get { slot.pointee.isDelivering }
        set { slot.pointee.isDelivering = newValue }
    }

    /// The publisher that makes the context of the event in hand if a handler asks for it; valid only while delivering.
    @inlinable var publisher: Unmanaged<EventPublisher>? {
        get { slot.pointee.publisher }
        set { slot.pointee.publisher = newValue }
    }

    // One thread reads and sets the context, always as a whole. So the exclusivity check could find nothing, and would
    // cost as much as the rest of a delivery's set-up.
    @exclusivity(unchecked) @usableFromInline var context: EventContext?

    /// The context of the event in hand while it lies in the memory of the caller that delivers the event; it is
    /// copied, which counts references, only if a handler asks for it.
    @exclusivity(unchecked) private var borrowed: UnsafePointer<BorrowedContext>?

    /// The event in hand, if it comes from a strand; its context is made only if a handler asks for it.
    @exclusivity(unchecked) private var place: DeliveryPlace?

    /// Whether a caller or a process waits for the handlers of the event in hand, and gets their errors.
    @exclusivity(unchecked) var collectsFailures = false
    @exclusivity(unchecked) var failure: ThrownError?

    @usableFromInline let slot = DeliverySlots.make()

    /// Inline deliveries of events that handlers published; they run once this thread has delivered the event in hand.
    private var deferred: [DeferredPublish] = []
    /// Empty memory for the next round of `deferred`.
    private var spare: [DeferredPublish] = []

    @inlinable static var storage: ThreadSpecific<DeliveryThread> { ThreadSpecific(.delivery) }

    deinit {
        DeliverySlots.remove(slot)
    }

    /// This thread's object, which lives as long as the thread does.
    @inlinable
    package static var unmanaged: Unmanaged<DeliveryThread> {
        if let existing = storage.unmanagedValue { return existing }
        return .passUnretained(makeCurrent())
    }

    package static var current: DeliveryThread { unmanaged.takeUnretainedValue() }

    @usableFromInline
    static func makeCurrent() -> DeliveryThread {
        let thread = DeliveryThread()
        storage.value = thread
        return thread
    }

    /// The context of the event in hand, made now if no handler has asked for it yet.
    package func resolvedContext() -> EventContext? {
        if let context { return context }
        if let borrowed {
            context = borrowed.pointee.context
        } else if let place {
            context = place.context
        } else if let publisher {
            context = publisher.takeUnretainedValue().makeContext(causedBy: EventContext.handledByTask)
        }
        return context
    }

    /// The event in hand as the cause of an event that its handler publishes; nil if the new event inherits a trace.
    ///
    /// Valid as long as the event is in hand.
    var causeInHand: BorrowedContext? {
        if context == nil, let borrowed { return borrowed.pointee.traceparent == nil ? borrowed.pointee : nil }
        guard let context = resolvedContext(), context.traceparent == nil else { return nil }
        // The thread's object holds the context, and with it the sources.
        return BorrowedContext(
            source: .passUnretained(context.id.source),
            number: context.id.number,
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            cause: context.cause.map { BorrowedID($0) },
            root: context.knownRoot.map { BorrowedID($0) }
        )
    }

    func deferDelivery(_ delivery: DeferredPublish) {
        deferred.append(delivery)
        slot.pointee.hasDeferred = true
    }

    /// Delivers the events that handlers have published, and the events that this causes, first in, first out.
    @inlinable
    func finish() {
        if slot.pointee.hasDeferred { runDeferred() }
        isDelivering = false
        publisher = nil
        if context != nil { context = nil }
    }

    @usableFromInline
    func runDeferred() {
        var round = spare
        spare = []
        repeat {
            swap(&round, &deferred)
            for delivery in round { delivery.run(on: self) }
            // `deferred` is not emptied in place: releasing a delivery may run a deinit that publishes, which adds to
            // `deferred`.
            round.removeAll(keepingCapacity: round.capacity <= 1024)
        } while !deferred.isEmpty
        slot.pointee.hasDeferred = false
        spare = round
    }

    /// Runs a handler on a queue, as ``run(context:_:)`` does; unless another delivery is under way, makes the event's
    /// context only if the handler asks for it.
    func run(_ place: DeliveryPlace, _ body: () -> Void) {
        if isDelivering { return run(context: place.context, body) }
        isDelivering = true
        self.place = place
        body()
        self.place = nil
        finish()
    }

    /// Runs a handler, with its event's context, on a queue or for an event from another process; the events that the
    /// handler publishes are delivered after it has returned.
    ///
    /// If another delivery is under way (a queue may run its block on the publishing thread), that delivery's state is
    /// restored afterwards.
    func run<Failure: Error>(context: EventContext, _ body: () throws(Failure) -> Void) throws(Failure) {
        let outer = (isDelivering, publisher, self.context)
        isDelivering = true
        publisher = nil
        self.context = context
        defer {
            if outer.0 {
                (isDelivering, publisher, self.context) = outer
            } else {
                finish()
            }
        }
        try body()
    }

    /// Begins the calls of the inline handlers of an awaited event, on a thread that delivers no other event;
    /// ``endAwaited()`` has to follow.
    ///
    /// - Parameter context: has to stay in place until then.
    package func beginAwaited(_ context: UnsafePointer<BorrowedContext>) {
        isDelivering = true
        collectsFailures = true
        borrowed = context
    }

    /// Ends the calls of the inline handlers; returns the first error that one of them threw, with the later ones.
    ///
    /// Delivers the events that the handlers published.
    package func endAwaited() -> ThrownError? {
        borrowed = nil
        collectsFailures = false
        let thrown = failure == nil ? nil : failure.take()
        finish()
        return thrown
    }

    /// Runs the inline handlers of an awaited event, also while the thread delivers another event; returns the first
    /// error that one of them threw, with the later ones.
    func collectFailures(context: BorrowedContext, _ body: (DeliveryThread) -> Void) -> ThrownError? {
        if !isDelivering {
            // There is no outer state to restore afterwards.
            return withUnsafePointer(to: context) { context in
                beginAwaited(context)
                body(self)
                return endAwaited()
            }
        }
        let outer = (collectsFailures, failure)
        var thrown: ThrownError?
        run(context: context.context) {
            collectsFailures = true
            failure = nil
            body(self)
            thrown = failure
            // Restored before the handlers' own events are delivered: no caller waits for the handlers of those events.
            (collectsFailures, failure) = outer
        }
        return thrown
    }
}
