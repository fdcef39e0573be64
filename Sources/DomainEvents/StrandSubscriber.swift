import Locks

/// A synchronous handler on a queue, in order with everything else that its publisher delivers on that queue.
final class StrandSubscriber: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let strand: DeliveryStrand
    private let handler: HeldHandler<@Sendable (RawEvent) throws -> Void>
    private weak let publisher: EventPublisher?
    private var isRemoved = false

    init<E: DomainEvent>(
        _ eventType: E.Type,
        untypedName: String?,
        site: SubscriptionSite,
        strand: DeliveryStrand,
        publisher: EventPublisher,
        handler: @escaping @Sendable (E) throws -> Void
    ) {
        let gate = CallGate()
        self.strand = strand
        self.publisher = publisher
        self.handler = HeldHandler({ event in try handler(event.copy(as: E.self)) }, behind: gate)
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
        key: AnyHashable?
    ) -> AppendOutcome {
        guard !isRemoved else { return .settled }
        room.enter()
        return strand.append(event, stamp, tracker, for: self) ? .wake : []
    }

    override func settle(_ outcome: AppendOutcome) {
        if outcome.contains(.wake) { strand.schedule() }
    }

    /// Calls the handler with an event that was taken out of the strand, then releases the event.
    func handle(_ place: DeliveryPlace, on thread: DeliveryThread) {
        room.leave()
        var failure: (any Error)?
        thread.run(place) {
            guard let handler = self.handler.enter() else { return }
            do { try handler(place.event) } catch { failure = error }
            self.handler.leave()
        }
        finish(place, failure: failure, publisher: publisher)
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
        if let tracker {
            tracker.handlerReturned(at: site, failure: failure.map { ThrownError($0, at: site) })
        } else if let failure, let context {
            publisher()?.publishFailure(of: eventType, named: eventName, context: context, error: failure, site: site)
        }
    }
}
