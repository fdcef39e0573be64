import Locks
public import Synchronization

/// The events of one name at one publisher: their subscribers, and the forwarders that carry them to other processes.
///
/// A publishing thread reads `current` without a lock, and writes the list that it uses into its ``DeliverySlot``. A
/// change puts a new list in the place of the old one, and keeps the old one until no slot names it. A thread that is
/// done with a replaced list releases the lists that no slot names any more. So a removed handler's captures are
/// released as soon as no call uses the old list, and no link uses it for a run (events read together).
@usableFromInline
package class AnyEventChannel: @unchecked Sendable {
    // Sendable: `current` is atomic, `subscribers`, `retired` and `silent` are guarded by `lock`; a list never changes.

    @usableFromInline package let name: String
    package let eventType: any DomainEvent.Type
    /// How much memory an event takes.
    let eventBytes: Int
    /// Whether the events are untyped: many channels of a publisher then have the same `eventType`.
    let isUntyped: Bool

    /// The address of `subscribers`; 0 if nothing gets the events.
    @usableFromInline let current = Atomic<UInt>(0)
    /// Whether the list has subscribers; changed after `current`.
    private let isSubscribed = Atomic<Bool>(false)
    private let lock = Lock()
    private var subscribers: SubscriberList
    private var retired: [SubscriberList] = []

    /// Reusable places in which events that handlers publish wait for their turn.
    let spares = DeferredPublishPool()

    /// True if no handler is ever called, as at a publisher that only stands in for a real one in a test.
    private let isMuted: Bool
    /// The sequences and deferred handlers of a muted channel: they get no event, but learn of the publisher's end.
    private var silent: [DeferredSubscriber] = []

    init(name: String, eventType: any DomainEvent.Type, forwarders: [any EventForwarder], isMuted: Bool) {
        self.name = name
        self.eventType = eventType
        eventBytes = eventType.rawSize
        isUntyped = eventType == UntypedEvent.self
        self.isMuted = isMuted
        subscribers = SubscriberList(forwarders: forwarders)
        if !subscribers.isEmpty { current.store(subscribers.address, ordering: .sequentiallyConsistent) }
    }

    /// The name of the channel's events if they are untyped; nil if their type has the name.
    var untypedName: String? { isUntyped ? name : nil }

    /// Subscribes an observer that takes events of every type.
    package func subscribe(_ observer: any EventObserver, publisher: EventPublisher) -> Subscription? { nil }

    /// Makes a subscriber that has `recorder` record each event before another subscriber gets it.
    ///
    /// This runs code of the program, such as the layout of the events' type.
    package func makeRecording(
        by recorder: any EventRecording,
        at site: SubscriptionSite,
        publisher: EventPublisher
    ) -> PendingSubscription { preconditionFailure("a channel knows the type of its events") }

    /// Publishes an event of this channel's type that a transaction held; moves the event out of its memory.
    func publish(moving event: RawEvent, _ stamp: EventStamp, from publisher: EventPublisher) {}

    /// Calls the inline handlers with an event of this channel's type that a handler published; moves the event out of
    /// its memory.
    func callInline(_ event: RawEvent, at destinations: Destinations, on thread: DeliveryThread) {}

    /// Tells the consumers of sequences, at the place of the loss, how many events of another process did not arrive.
    ///
    /// The loss keeps its order among the events that the calling thread hands over.
    package func eventsWereMissed(_ count: Int) {
        guard count > 0 else { return }
        var channels = [self]
        var next = 0
        while next < channels.count {
            let subscribers = channels[next].currentSubscribers()
            next += 1
            guard let subscribers else { continue }
            for subscriber in subscribers.deferred {
                let outcome = subscriber.lock.withLock { subscriber.appendMissed(count) }
                subscriber.settle(outcome)
            }
            for linked in subscribers.links.compactMap({ $0.publisher?.channel(named: name) })
            where !channels.contains(where: { $0 === linked }) {
                channels.append(linked)
            }
        }
    }

    // MARK: - Reading

    /// The present list, with a counted reference for the caller; nil if nothing gets the events.
    func currentSubscribers() -> SubscriberList? {
        if current.load(ordering: .sequentiallyConsistent) == 0 { return nil }
        let slot = DeliveryThread.unmanaged._withUnsafeGuaranteedRef { $0.slot }
        // The slot names a list already: the code that uses that list has published another event.
        if slot.pointee.isBorrowing { return lock.withLock { subscribers.isEmpty ? nil : subscribers } }
        guard let lent = lendList(to: slot) else { return nil }
        defer { takeBack(lent, from: slot) }
        return lent.takeUnretainedValue()
    }

    /// The present list, which is not released as long as the slot names it; nil if nothing gets the events.
    func lendList(to slot: UnsafeMutablePointer<DeliverySlot>) -> Unmanaged<SubscriberList>? {
        var address = current.load(ordering: .sequentiallyConsistent)
        while let pointer = UnsafeRawPointer(bitPattern: address) {
            slot.pointee.setBorrowed(address)
            let now = current.load(ordering: .sequentiallyConsistent)
            if now == address { return .fromOpaque(pointer) }
            // Another thread may have kept the replaced list because this slot named it for a moment.
            slot.pointee.setBorrowed(0)
            sweep()
            address = now
        }
        return nil
    }

    func takeBack(_ lent: Unmanaged<SubscriberList>, from slot: UnsafeMutablePointer<DeliverySlot>) {
        slot.pointee.setBorrowed(0)
        if current.load(ordering: .sequentiallyConsistent) != UInt(bitPattern: lent.toOpaque()) { sweep() }
    }

    /// The present subscribers, if they can handle a run (events that a link has read together) on arrival; else nil.
    package func runSubscribers() -> SubscriberList? {
        guard let present = currentSubscribers(), present.takesRuns else { return nil }
        return present
    }

    /// Whether these are the present subscribers.
    package func areCurrent(_ subscribers: SubscriberList) -> Bool {
        // As long as a list is held, no other list has its address.
        subscribers.address == current.load(ordering: .sequentiallyConsistent)
    }

    /// Whether a subscriber, or another publisher to which this publisher passes events on, gets the events.
    package var hasSubscribers: Bool { isSubscribed.load(ordering: .sequentiallyConsistent) }

    /// As ``hasSubscribers``, but journals do not count.
    package var hasHandlers: Bool { currentSubscribers()?.hasHandlers ?? false }

    /// Whether the publisher's own recorder records the events.
    package var isRecorded: Bool { currentSubscribers()?.isRecorded ?? false }

    /// Whether any receiver, in this process or in another, gets the events.
    var isReached: Bool { current.load(ordering: .sequentiallyConsistent) != 0 }

    // MARK: - Changing

    /// - Returns: Lists that are no longer in use; the caller releases them without any lock held.
    private func change(_ make: (SubscriberList) -> SubscriberList) -> [SubscriberList] {
        lock.withLock {
            retired.append(subscribers)
            subscribers = make(subscribers)
            current.store(subscribers.isEmpty ? 0 : subscribers.address, ordering: .sequentiallyConsistent)
            isSubscribed.store(subscribers.hasSubscribers, ordering: .sequentiallyConsistent)
            // Within the lock, so that the fence has acted on all threads before another thread looks at the retired
            // list.
            DeliverySlots.fence()
            return takeUnused()
        }
    }

    private func takeUnused() -> [SubscriberList] {
        var unused: [SubscriberList] = []
        retired.removeAll { subscribers in
            if DeliverySlots.isUsing(subscribers: subscribers.address) { return false }
            unused.append(subscribers)
            return true
        }
        return unused
    }

    /// Releases replaced lists that no thread uses any more.
    @usableFromInline
    func sweep() {
        let unused = lock.withLock { takeUnused() }
        withExtendedLifetime(unused) {}
    }

    /// Adds an inline subscriber that is called ahead of the others, and even if the channel is muted.
    func add(first subscriber: AnySubscriber) {
        withExtendedLifetime(change { $0.with(inline: [subscriber] + $0.inline) }) {}
    }

    func add(deferred subscriber: DeferredSubscriber) { withExtendedLifetime(put(subscriber)) {} }

    /// Adds an inline subscriber; the caller may hold a lock.
    ///
    /// - Returns: Lists that are no longer in use; the caller releases them without any lock held.
    func put(inline subscriber: AnySubscriber) -> [SubscriberList] {
        isMuted ? [] : change { $0.with(inline: $0.inline + [subscriber]) }
    }

    /// Adds a subscriber as ``put(inline:)`` does.
    func put(_ subscriber: DeferredSubscriber) -> [SubscriberList] {
        guard !isMuted else {
            lock.withLock { silent.append(subscriber) }
            return []
        }
        return change { $0.with(deferred: $0.deferred + [subscriber]) }
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
                inline: before.inline.filter { $0.owner !== gate },
                deferred: before.deferred.filter { $0.gate !== gate },
                links: before.links.filter { $0.gate !== gate }
            )
        }
        lock.withLock {
            removed += silent.filter { $0.gate === gate }
            silent.removeAll { $0.gate === gate }
        }
        for subscriber in removed { subscriber.discardWaiting() }
        withExtendedLifetime(unused) {}
    }

    /// Has this recorder, which has become the publisher's own, record from now on which receivers events are owed to.
    ///
    /// Its subscriber stays, so it records each event once.
    package func keepCustody(by recorder: any EventRecording) {
        let changed = currentSubscribers()?.deferred.filter { $0.keepCustody(by: recorder) } ?? []
        // A list knows from its beginning whether the events are recorded.
        if !changed.isEmpty { withExtendedLifetime(change { $0.with() }) {} }
    }

    func setForwarders(_ forwarders: [any EventForwarder]) -> [AnyObject] {
        change { $0.with(forwarders: forwarders) }
    }

    func publisherWasReleased() {
        let subscribers = (currentSubscribers()?.deferred ?? []) + lock.withLock { silent }
        for subscriber in subscribers { subscriber.publisherWasReleased() }
    }
}
