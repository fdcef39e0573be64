import Locks

/// A synchronous handler on a queue, in order with everything else that its publisher delivers on that queue.
final class StrandSubscriber: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let strand: DeliveryStrand
    private let handler: HeldHandler<@Sendable (DeliveryPlace, StrandSubscriber) throws -> Void>
    private weak let publisher: EventPublisher?
    /// The error of an event that the handler does not get because the subscription was cancelled; nil if such an event
    /// counts as handled.
    private let failureIfCancelled: (any Error)?
    private var isRemoved = false

    convenience init<E: DomainEvent>(
        _ eventType: E.Type,
        untypedName: String?,
        site: SubscriptionSite,
        strand: DeliveryStrand,
        publisher: EventPublisher,
        handler: @escaping @Sendable (E) throws -> Void
    ) {
        self.init(eventType, untypedName, site, strand, publisher, failureIfCancelled: nil) { place, _ in
            try handler(place.event.copy(as: E.self))
        }
    }

    /// Makes a subscriber whose handler acknowledges the events itself.
    convenience init<E: DomainEvent>(
        _ eventType: E.Type,
        untypedName: String?,
        site: SubscriptionSite,
        strand: DeliveryStrand,
        publisher: EventPublisher,
        acknowledging handler: @escaping @Sendable (UnsettledDelivery<E>) throws -> Void
    ) {
        let cancelled = NotSettled(reason: "its subscription was cancelled")
        self.init(eventType, untypedName, site, strand, publisher, failureIfCancelled: cancelled) { place, subscriber in
            let delivery = UnsettledDelivery(
                place.event.copy(as: E.self),
                place.context,
                subscriber.settlement(of: place)
            )
            do { try handler(delivery) } catch { delivery.refuse(error) }
        }
    }

    private init(
        _ eventType: any DomainEvent.Type,
        _ untypedName: String?,
        _ site: SubscriptionSite,
        _ strand: DeliveryStrand,
        _ publisher: EventPublisher,
        failureIfCancelled: (any Error)?,
        handler: @escaping @Sendable (DeliveryPlace, StrandSubscriber) throws -> Void
    ) {
        let gate = CallGate()
        self.strand = strand
        self.publisher = publisher
        self.failureIfCancelled = failureIfCancelled
        self.handler = HeldHandler(handler, behind: gate)
        super.init(
            eventType,
            untypedName: untypedName,
            site: site,
            gate: gate,
            source: publisher.source,
            lockNumber: strand.lockNumber
        )
    }

    override func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        _ preparation: EventPreparation
    ) -> AppendOutcome {
        guard !isRemoved else { return .settled }
        room.enter()
        return strand.append(event, stamp, tracker, for: self) ? .wake : []
    }

    override var failureOnceRemoved: ThrownError? {
        failureIfCancelled.map { ThrownError($0, at: site, of: publisher) }
    }

    override func settle(_ outcome: AppendOutcome) {
        if outcome.contains(.wake) { strand.schedule() }
    }

    /// Calls the handler with an event that was taken out of the strand, then releases the event.
    func handle(_ place: DeliveryPlace, on thread: DeliveryThread) {
        room.leave()
        var failure: (any Error)?
        thread.run(place) {
            guard let handler = self.handler.enter() else {
                failure = failureIfCancelled
                return
            }
            do { try handler(place, self) } catch { failure = error }
            self.handler.leave()
        }
        finish(place, failure: failure, publisher: publisher)
    }

    /// Makes the object by which the handler settles the event; that object takes over the event's tracker.
    private func settlement(of place: DeliveryPlace) -> ManualSettlement {
        // The event takes up room until it is settled, so that the senders of this process wait for the subscriber.
        lock.withLock { room.enter() }
        return ManualSettlement(place.context, place.pointee.tracker.take(), of: self)
    }

    /// Reports how the subscriber has settled an event that it acknowledges itself.
    func settled(_ context: EventContext, _ tracker: HandlingTracker?, failure: (any Error)?) {
        room.leave()
        report(failure, of: context, to: tracker, publisher: publisher)
    }

    override func release(_ place: DeliveryPlace) {
        guard let failureIfCancelled else { return super.release(place) }
        finish(place, failure: failureIfCancelled, publisher: publisher)
    }

    override func discardWaiting() {
        let (left, senders) = lock.withLock {
            isRemoved = true
            return (strand.remove(self), room.open())
        }
        handler.letGoIfUnused()
        for sender in senders { sender.resume() }
        drop(left)
    }

    override func giveBack(_ places: DeliveryBatch) {
        strand.giveBack(places)
    }
}

extension DeferredSubscriber {
    /// Releases the event, and reports the end of the handler's call to the event's tracker; without a tracker,
    /// publishes the handler's error.
    func finish(_ place: DeliveryPlace, failure: (any Error)?, publisher: @autoclosure () -> EventPublisher?) {
        let tracker = place.pointee.tracker
        let context = failure == nil || tracker != nil ? nil : place.context
        place.release()
        report(failure, of: context, to: tracker, publisher: publisher())
    }

    /// Reports the end of an event's handling to its tracker; without a tracker, publishes the failure.
    ///
    /// - Parameter context: needed for a failure that no tracker waits for.
    fileprivate func report(
        _ failure: (any Error)?,
        of context: EventContext?,
        to tracker: HandlingTracker?,
        publisher: @autoclosure () -> EventPublisher?
    ) {
        if let tracker {
            tracker.handlerReturned(at: site, failure: failure.map { ThrownError($0, at: site, of: publisher()) })
        } else if let failure, let context {
            publisher()?.publishFailure(of: eventType, named: eventName, context: context, error: failure, site: site)
        }
    }
}
