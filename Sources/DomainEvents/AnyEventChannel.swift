import Locks
public import Synchronization

/// The subscribers of one event type, and its ways out of the process, within one publisher.
///
/// A publishing thread reads `current` without a lock and without counting a reference; it writes the routes that it
/// uses into its ``DeliverySlot``. A change puts new routes in the place of the old ones, and keeps the old ones until
/// no slot names them. A thread that uses replaced routes looks again when it leaves them. So a removed handler's
/// captures are released as soon as no call uses them.
@usableFromInline
package class AnyEventChannel: @unchecked Sendable {
    // Sendable: `current` is atomic, `routes` and `retired` are guarded by `lock`; routes themselves never change.

    @usableFromInline package let name: String
    package let eventType: any DomainEvent.Type

    /// The address of `routes`; 0 if nothing gets the events.
    @usableFromInline let current = Atomic<UInt>(0)
    /// Whether `routes` has subscribers; changed after `current`.
    private let isSubscribed = Atomic<Bool>(false)
    private let lock = Lock()
    private var routes: Routes
    private var retired: [Routes] = []

    /// An event published inside a handler needs a place to wait; places are used again.
    let spares = DeferredPublishPool()

    /// Whether handlers are not called; for publishers that tests use instead of real ones.
    private let isMuted: Bool

    init(name: String, eventType: any DomainEvent.Type, forwarders: [any EventForwarder], isMuted: Bool) {
        self.name = name
        self.eventType = eventType
        self.isMuted = isMuted
        routes = Routes(forwarders: forwarders)
        if !routes.isEmpty { current.store(routes.address, ordering: .sequentiallyConsistent) }
    }

    /// Subscribes an observer of events of every type.
    package func subscribe(_ observer: any EventObserver, publisher: EventPublisher) -> Subscription? { nil }

    /// Has the events recorded before a subscriber gets them.
    package func record(
        by recorder: any EventRecording,
        at site: SubscriptionSite,
        publisher: EventPublisher
    ) -> Subscription { preconditionFailure("a channel knows the type of its events") }

    /// Calls the inline handlers with an event of this channel's type that a handler published; moves the event out of
    /// its memory.
    func callInline(_ event: RawEvent, at stops: DeliveryStops, on thread: DeliveryThread) {}

    /// Tells consumers of sequences that events of this channel were lost on the way from another process, at the place
    /// of the loss.
    ///
    /// The loss keeps its order among the events that the calling thread hands over.
    package func eventsWereMissed(_ count: Int) {
        guard count > 0 else { return }
        var channels = [self]
        var next = 0
        while next < channels.count {
            let routes = channels[next].currentRoutes()
            next += 1
            guard let routes else { continue }
            for subscriber in routes.deferred {
                let outcome = subscriber.lock.withLock { subscriber.appendMissed(count) }
                subscriber.settle(outcome)
            }
            for linked in routes.links.compactMap({ $0.publisher?.channel(named: name) })
            where !channels.contains(where: { $0 === linked }) {
                channels.append(linked)
            }
        }
    }

    // MARK: - Reading

    /// The present routes, with a counted reference for the caller; nil if nothing gets the events.
    func currentRoutes() -> Routes? {
        var address = current.load(ordering: .sequentiallyConsistent)
        if address == 0 { return nil }
        let slot = DeliveryThread.unmanaged._withUnsafeGuaranteedRef { $0.slot }
        while true {
            slot.pointee.borrowed.store(address, ordering: .sequentiallyConsistent)
            let now = current.load(ordering: .sequentiallyConsistent)
            if now == address { break }
            address = now
        }
        guard let pointer = UnsafeRawPointer(bitPattern: address) else {
            slot.pointee.borrowed.store(0, ordering: .releasing)
            return nil
        }
        // The slot named the routes while they were current, so they are not released before the slot is empty again.
        let routes = Unmanaged<Routes>.fromOpaque(pointer).takeUnretainedValue()
        // An exchange, as in `leave`: the optimizer may move the counting of a reference past a store, even an atomic
        // one. Then the routes could be released before the reference is counted.
        _ = slot.pointee.borrowed.exchange(0, ordering: .sequentiallyConsistent)
        if current.load(ordering: .sequentiallyConsistent) != address { sweep() }
        return routes
    }

    /// The present routes, which `kept` holds for the caller; nil if nothing gets the events.
    func currentRoutes(in kept: inout KeptRoutes) -> Unmanaged<Routes>? {
        // No other routes have the address of those that are held.
        if let routes = kept.routes, routes.address == current.load(ordering: .sequentiallyConsistent) {
            return .passUnretained(routes)
        }
        kept.routes = currentRoutes()
        return kept.routes.map { .passUnretained($0) }
    }

    /// Whether a subscriber here, or at a publisher that is linked to this one, gets the events.
    package var hasSubscribers: Bool { isSubscribed.load(ordering: .sequentiallyConsistent) }

    /// Whether any receiver, here or elsewhere, gets the events.
    var isReached: Bool { current.load(ordering: .sequentiallyConsistent) != 0 }

    // MARK: - Changing

    /// - Returns: Routes that are no longer in use; the caller releases them without any lock held.
    private func change(_ make: (Routes) -> Routes) -> [Routes] {
        lock.withLock {
            retired.append(routes)
            routes = make(routes)
            current.store(routes.isEmpty ? 0 : routes.address, ordering: .sequentiallyConsistent)
            isSubscribed.store(routes.hasSubscribers, ordering: .sequentiallyConsistent)
            return takeUnused()
        }
    }

    private func takeUnused() -> [Routes] {
        var unused: [Routes] = []
        retired.removeAll { routes in
            if DeliverySlots.isUsing(routes: routes.address) { return false }
            unused.append(routes)
            return true
        }
        return unused
    }

    /// Releases replaced routes that no thread uses any more.
    @usableFromInline
    func sweep() {
        let unused = lock.withLock { takeUnused() }
        withExtendedLifetime(unused) {}
    }

    /// - Parameter isFirst: whether the subscriber is called ahead of the others, and even if the channel is muted.
    func add(inline subscriber: AnySubscriber, isFirst: Bool = false) {
        if isFirst { return withExtendedLifetime(change { $0.with(inline: [subscriber] + $0.inline) }) {} }
        guard !isMuted else { return }
        withExtendedLifetime(change { $0.with(inline: $0.inline + [subscriber]) }) {}
    }

    func add(deferred subscriber: DeferredSubscriber) {
        guard !isMuted else { return }
        withExtendedLifetime(change { $0.with(deferred: $0.deferred + [subscriber]) }) {}
    }

    func add(_ link: PublisherLink) {
        guard !isMuted else { return }
        withExtendedLifetime(change { $0.with(links: $0.links + [link]) }) {}
    }

    func removeSubscriber(behind gate: CallGate) {
        var removed: [DeferredSubscriber] = []
        let unused = change { before in
            removed = before.deferred.filter { $0.gate === gate }
            return before.with(
                inline: before.inline.filter { $0.gate !== gate },
                deferred: before.deferred.filter { $0.gate !== gate },
                links: before.links.filter { $0.gate !== gate }
            )
        }
        for subscriber in removed { subscriber.discardWaiting() }
        withExtendedLifetime(unused) {}
    }

    func setForwarders(_ forwarders: [any EventForwarder]) -> [AnyObject] {
        change { $0.with(forwarders: forwarders) }
    }

    func publisherWasReleased() {
        for subscriber in currentRoutes()?.deferred ?? [] { subscriber.publisherWasReleased() }
    }
}
