import Locks

/// An asynchronous handler, or a handler on an actor: each call begins when the one before has returned.
final class TaskSubscriber: DeferredSubscriber, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    private enum Handler: Sendable {
        /// This subscriber enters the gate, on the actor that the closure is isolated to.
        case closure(HeldHandler<Isolated>)
        /// The closure finds its actor itself and enters the gate there; the closure holds nothing that has to be
        /// released.
        case entering(@Sendable (RawEvent, CallGate) async throws -> Void)
    }

    private struct Isolated: Sendable {
        let isolation: (any Actor)?
        let call: @Sendable (RawEvent) async throws -> Void
    }

    private let handler: Handler
    private let calls = HandlerCalls()
    private let arrivals = ArrivalFlag()
    private var backlog: Backlog
    private var isScheduled = false
    private var isRemoved = false
    private weak let publisher: EventPublisher?

    /// After this many events the task gives the actor back, so that other tasks get their turn.
    private static let burst = 256
    /// How many events are taken out of the backlog at once.
    private static let batchLimit = 32

    init<E: DomainEvent>(
        _ eventType: E.Type,
        untypedName: String? = nil,
        site: SubscriptionSite,
        publisher: EventPublisher,
        closure: @escaping @isolated(any) @Sendable (E) async throws -> Void
    ) {
        let gate = CallGate()
        let isolated = Isolated(isolation: closure.isolation) { event in try await closure(event.copy(as: E.self)) }
        handler = .closure(HeldHandler(isolated, behind: gate))
        self.publisher = publisher
        backlog = Backlog(arrivals)
        super.init(eventType, untypedName: untypedName, site: site, gate: gate, source: publisher.source)
    }

    init<E: DomainEvent>(
        _ eventType: E.Type,
        site: SubscriptionSite,
        publisher: EventPublisher,
        entering: @escaping @Sendable (E, CallGate) async throws -> Void
    ) {
        handler = .entering { event, gate in try await entering(event.copy(as: E.self), gate) }
        self.publisher = publisher
        backlog = Backlog(arrivals)
        super.init(eventType, site: site, gate: CallGate(), source: publisher.source)
    }

    override func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        _ preparation: EventPreparation
    ) -> AppendOutcome {
        guard !isRemoved else { return .settled }
        backlog.append(event, stamp, tracker, for: self)
        room.enter()
        defer { isScheduled = true }
        return isScheduled ? [] : .wake
    }

    override func settle(_ outcome: AppendOutcome) {
        guard outcome.contains(.wake) else { return }
        // Detached: the handler belongs to its subscription, not to the task that happened to publish.
        let isolation = isolation
        Task.detached(executorPreference: Simulation.taskExecutor) { await self.workOff(isolation: isolation) }
    }

    private var isolation: (any Actor)? {
        guard case .closure(let held) = handler, let isolated = held.enter() else { return nil }
        defer { held.leave() }
        return isolated.isolation
    }

    /// Calls the handler for the waiting events, on the handler's own actor.
    ///
    /// The gate is entered on that actor as well. Otherwise the subscription could be cancelled on the actor after the
    /// gate was entered, and the handler would still begin.
    private func workOff(isolation: isolated (any Actor)?) async {
        var handled = 0
        var batch = DeliveryBatch()
        while takeNext(&batch, handled) {
            var left = batch
            while let place = left.takeNext() {
                handled += 1
                if handled.isMultiple(of: Self.burst) { await Task.yield() }
                room.leave()
                var failure: (any Error)?
                do {
                    try await EventContext.handle(place.context, counting: calls, isolation: isolation) {
                        // A closure inherits an isolated parameter only if the closure mentions it.
                        _ = isolation
                        try await call(place.event)
                    }
                } catch {
                    failure = error
                }
                finish(place, failure: failure, publisher: publisher)
            }
        }
    }

    private func call(_ event: RawEvent) async throws {
        switch handler {
        case .closure(let held):
            guard let isolated = held.enter() else { return }
            defer { held.leave() }
            try await isolated.call(event)
        case .entering(let enter):
            try await enter(event, gate)
        }
    }

    /// - Returns: Whether `batch` has events; if not, the next event starts another task.
    private func takeNext(_ batch: inout DeliveryBatch, _ handled: Int) -> Bool {
        // A burst is under way, so the next event probably comes soon.
        var mayWait = handled > 1
        while true {
            lock.lockSoon()
            backlog.giveBack(batch)
            batch = backlog.take(atMost: Self.batchLimit)
            isScheduled = mayWait || !batch.isEmpty
            lock.unlock()
            if !batch.isEmpty { return true }
            if !mayWait { return false }
            mayWait = arrivals.comeSoon()
        }
    }

    override func discardWaiting() {
        let (left, senders) = lock.withLock {
            isRemoved = true
            return (backlog.takeAll(), room.open())
        }
        if case .closure(let held) = handler { held.letGoIfUnused() }
        for sender in senders { sender.resume() }
        drop(left)
    }

    override func giveBack(_ places: DeliveryBatch) {
        lock.withLock { backlog.giveBack(places) }
    }
}
