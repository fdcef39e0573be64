import Locks
public import Synchronization

/// One event type's subscribers and ways out of the process, within one publisher.
@usableFromInline
package class AnyEventChannel: @unchecked Sendable {
    // Sendable: everything mutable is in the subclass, which guards it.
    @usableFromInline package let name: String
    package let eventType: any DomainEvent.Type

    init(name: String, eventType: any DomainEvent.Type) {
        self.name = name
        self.eventType = eventType
    }

    package var hasSubscribers: Bool { false }
    /// - Returns: What is no longer in use, to be released without any lock held.
    func setForwarders(_ forwarders: [any EventForwarder]) -> [AnyObject] { [] }
    func removeSubscriber(behind gate: CallGate) {}
    func publisherWasReleased() {}
    /// Subscribes something that takes events of every type.
    package func subscribe(_ observer: any EventObserver, publisher: EventPublisher) -> Subscription? { nil }
}

/// The typed channel: who gets the events of one type.
///
/// Publishing reads `current` without a lock and without counting a reference; it writes into its thread's ``DeliverySlot`` what
/// it uses. A change puts new routes in the place of the old ones, and keeps those until no slot names them. Whoever was in
/// them when they were replaced looks again when it leaves, so what a removed handler has captured is let go of as soon as no
/// call uses it.
@usableFromInline
package final class EventChannel<E: DomainEvent>: AnyEventChannel, @unchecked Sendable {
    // Sendable: `current` is atomic, `routes` and `retired` are guarded by `lock`; routes themselves never change.

    /// The address of `routes`; 0 if nobody gets the events.
    @usableFromInline let current = Atomic<UInt>(0)
    private let lock = Lock()
    private var routes = Routes<E>()
    private var retired: [Routes<E>] = []

    /// Publishing inside handlers needs a place to keep the event; places are used again.
    let spares = DeferredPublishPool<E>()

    /// Whether handlers are not called: for publishers that tests put in the place of real ones.
    private let isMuted: Bool

    init(name: String, forwarders: [any EventForwarder], isMuted: Bool) {
        self.isMuted = isMuted
        super.init(name: name, eventType: E.self)
        routes = Routes(forwarders: forwarders)
        if !routes.isEmpty { current.store(routes.address, ordering: .sequentiallyConsistent) }
    }

    // MARK: - Reading

    /// The routes as they are, with a reference of the caller's own; nil if nobody gets the events.
    func currentRoutes() -> Routes<E>? {
        var address = current.load(ordering: .sequentiallyConsistent)
        if address == 0 { return nil }
        let slot = DeliveryThread.current.slot
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
        let routes = Unmanaged<Routes<E>>.fromOpaque(pointer).takeUnretainedValue()
        // An exchange, as in `leave`: the optimizer moves the counting of a reference past a store, also past an atomic one, and then
        // the routes could be released before they are counted.
        _ = slot.pointee.borrowed.exchange(0, ordering: .sequentiallyConsistent)
        if current.load(ordering: .sequentiallyConsistent) != address { sweep() }
        return routes
    }

    package override var hasSubscribers: Bool { currentRoutes()?.hasSubscribers ?? false }

    var forwarders: [any EventForwarder] { currentRoutes()?.forwarders ?? [] }

    // MARK: - Changing

    /// - Returns: What is no longer in use, to be released without any lock held.
    private func change(_ make: (Routes<E>) -> Routes<E>) -> [Routes<E>] {
        lock.withLock {
            retired.append(routes)
            routes = make(routes)
            current.store(routes.isEmpty ? 0 : routes.address, ordering: .sequentiallyConsistent)
            return takeUnused()
        }
    }

    private func takeUnused() -> [Routes<E>] {
        var unused: [Routes<E>] = []
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

    func add(_ subscriber: InlineSubscriber<E>) {
        guard !isMuted else { return }
        withExtendedLifetime(change { $0.with(inline: $0.inline + [subscriber]) }) {}
    }

    func add(_ subscriber: DeferredSubscriber<E>) {
        guard !isMuted else { return }
        withExtendedLifetime(change { $0.with(deferred: $0.deferred + [subscriber]) }) {}
    }

    func add(_ link: PublisherLink) {
        guard !isMuted else { return }
        withExtendedLifetime(change { $0.with(links: $0.links + [link]) }) {}
    }

    package override func subscribe(_ observer: any EventObserver, publisher: EventPublisher) -> Subscription? {
        let subscriber = InlineSubscriber<E>(site: SubscriptionSite(file: #fileID, line: #line)) { event in
            observer.observe(event)
        }
        // Ahead of the others: what is observed is there when the first handler begins. Muted publishers are observed, too.
        withExtendedLifetime(change { $0.with(inline: [subscriber] + $0.inline) }) {}
        publisher.announceInterest(in: name)
        return Subscription(gate: subscriber.gate, channel: self, publisher: publisher)
    }

    override func removeSubscriber(behind gate: CallGate) {
        var removed: [DeferredSubscriber<E>] = []
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

    override func setForwarders(_ forwarders: [any EventForwarder]) -> [AnyObject] {
        change { $0.with(forwarders: forwarders) }
    }

    override func publisherWasReleased() {
        for subscriber in currentRoutes()?.deferred ?? [] { subscriber.publisherWasReleased() }
    }
}
