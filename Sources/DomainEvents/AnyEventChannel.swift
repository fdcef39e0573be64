import Locks
public import Synchronization

/// One event type's subscribers and ways out of the process, within one publisher.
///
/// Publishing reads `current` without a lock and without counting a reference; it writes into its thread's
/// ``DeliverySlot`` what it uses. A change puts new routes in the place of the old ones, and keeps those until no slot
/// names them. A thread that was in them when they were replaced looks again when it leaves, so what a removed handler
/// has captured is let go of as soon as no call uses it.
@usableFromInline
package class AnyEventChannel: @unchecked Sendable {
    // Sendable: `current` is atomic, `routes` and `retired` are guarded by `lock`; routes themselves never change.

    @usableFromInline package let name: String
    package let eventType: any DomainEvent.Type

    /// The address of `routes`; 0 if nothing gets the events.
    @usableFromInline let current = Atomic<UInt>(0)
    /// Of `routes`; changed after `current`.
    private let isSubscribed = Atomic<Bool>(false)
    private let lock = Lock()
    private var routes: Routes
    private var retired: [Routes] = []

    /// Publishing inside handlers needs a place to keep the event; places are used again.
    let spares = DeferredPublishPool()

    /// Whether handlers are not called: for publishers that tests put in the place of real ones.
    private let isMuted: Bool

    init(name: String, eventType: any DomainEvent.Type, forwarders: [any EventForwarder], isMuted: Bool) {
        self.name = name
        self.eventType = eventType
        self.isMuted = isMuted
        routes = Routes(forwarders: forwarders)
        if !routes.isEmpty { current.store(routes.address, ordering: .sequentiallyConsistent) }
    }

    /// Subscribes something that takes events of every type.
    package func subscribe(_ observer: any EventObserver, publisher: EventPublisher) -> Subscription? { nil }

    /// Calls the inline handlers with an event of this channel's type that a handler published before; takes it out of
    /// its memory.
    func callInline(_ event: RawEvent, at stops: DeliveryStops, on thread: DeliveryThread) {}

    /// Events of this channel were lost on their way from another process: consumers of sequences are told in their
    /// place.
    ///
    /// In order with the events that the calling thread hands over.
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

    /// The routes as they are, with a reference of the caller's own; nil if nothing gets the events.
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
        // Named in the slot while it was current, so not released before the slot is empty again.
        let routes = Unmanaged<Routes>.fromOpaque(pointer).takeUnretainedValue()
        // An exchange, as in `leave`: the optimizer moves the counting of a reference past a store, also past an atomic
        // one, and then the routes could be released before they are counted.
        _ = slot.pointee.borrowed.exchange(0, ordering: .sequentiallyConsistent)
        if current.load(ordering: .sequentiallyConsistent) != address { sweep() }
        return routes
    }

    /// Whether anybody here, or at a publisher that is linked to this one, gets the events.
    package var hasSubscribers: Bool { isSubscribed.load(ordering: .sequentiallyConsistent) }

    /// Whether anybody gets the events, here or elsewhere.
    var isReached: Bool { current.load(ordering: .sequentiallyConsistent) != 0 }

    // MARK: - Changing

    /// - Returns: What is no longer in use, to be released without any lock held.
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

    /// Lets go of what was replaced and is in no thread's hands any more.
    @usableFromInline
    func sweep() {
        let unused = lock.withLock { takeUnused() }
        withExtendedLifetime(unused) {}
    }

    /// - Parameter isFirst: whether it is called ahead of the others, and also if handlers are not called.
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
