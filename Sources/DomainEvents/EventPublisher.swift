import Locks
public import Synchronization

/// Publishes domain events and delivers them to subscribers, in this process and, through a bridge, in others.
///
/// ```swift
/// let publisher = EventPublisher()
/// let subscription = publisher.subscribe(to: BoxProvisioned.self) { event in print(event.label) }
/// publisher.publish(BoxProvisioned(boxID: 7, label: "Books"))
/// ```
///
/// - If one `publish` returns before another begins (on one thread, task or actor), every subscriber sees the two
///   events in that order, wherever its handler runs. In a sequence that buffers the `latest` events, a younger event
///   may come at the place of an older one.
/// - A handler may publish, even events of the type that it handles, and may subscribe and cancel. If a handler
///   publishes an event, handlers on the publishing thread get it when the event being handled has reached all its
///   subscribers, and before the outermost `publish` returns.
/// - A subscriber on a queue, in a task or of a sequence gets a cause before its effect, even if another process
///   published the effect. A handler on the publishing thread may get the effect first, if the effect comes over a link
///   while another thread is still delivering the cause.
/// - `publish` waits for no subscriber on a queue, in a task or of a sequence, and holds no lock while a handler runs.
/// - An event goes to the handlers that are subscribed when `publish` is called, or when the transaction that holds the
///   event ends. A handler that is subscribed during the call gets the next event.
///
/// All members may be used from any thread.
public final class EventPublisher: @unchecked Sendable {
    // Sendable: `channels` synchronizes itself; the rest is atomic, constant or guarded by `lock`.

    @usableFromInline let channels = ChannelTable()
    /// How many transactions are under way; while there are none, `publish` does not look for one.
    @usableFromInline let openTransactions = Atomic<Int>(0)
    /// The origin of this publisher's events: `host`, or the worker's name.
    package let source: EventSource
    /// The number of events offered so far, on cache lines of its own.
    private let offered: UnsafeMutablePointer<Atomic<UInt64>>
    /// The executor of synchronous handlers that were subscribed without `on:`; nil for the publishing thread.
    let defaultExecutor: StrandExecutor?
    /// True if handlers are never called.
    private let isMuted: Bool

    private let lock = Lock()
    private var channelsByName: [EventName: AnyEventChannel] = [:]
    /// The channels of untyped events that all observers know; `channels` finds channels by type, so these are here.
    private var untypedChannels: [EventName: EventChannel<UntypedEvent>] = [:]
    /// The names of the reports and of a bridge's other event types, whether or not this process has used the types.
    private var reserved = EventNames.ofReports
    private let wanted = WantedNames()
    /// The recorder of the events, for a host.
    package let recording = PublisherRecording()
    private var forwarders: [EventName: [(owner: ObjectIdentifier, forwarder: any EventForwarder)]] = [:]
    private var observers: [any InterestObserver] = []
    /// Stays true once a bridge has carried this publisher's events; while it is false, ``hasLostItsBridge`` takes no
    /// lock.
    private let hasHadBridge = Atomic(false)
    /// By the identities of their executors.
    private var strands = WeakTable<DeliveryStrand, Void>()
    /// The objects that are subscribed without a ``Subscription`` to keep.
    private var consumers = WeakTable<AnyObject, Subscription>()
    let importRight = ImportRight()

    /// Makes a publisher that is independent of every other publisher.
    public convenience init() {
        self.init(origin: "host")
    }

    /// Makes a publisher whose synchronous handlers run on the main actor's thread, unless a subscriber says otherwise.
    public convenience init(deliveringOn context: MainDelivery) {
        self.init(origin: "host", deliveringOn: .main)
    }

    /// Makes a publisher whose synchronous handlers run on this queue, unless a subscriber says otherwise.
    public convenience init(deliveringOn context: QueueDelivery) {
        self.init(origin: "host", deliveringOn: context.executor)
    }

    package convenience init(origin: String, deliveringOn executor: StrandExecutor? = nil, isMuted: Bool = false) {
        let source = EventSource(origin: origin, incarnation: Randomness.nextIncarnation())
        self.init(source: source, deliveringOn: executor, isMuted: isMuted)
    }

    package init(source: EventSource, deliveringOn executor: StrandExecutor? = nil, isMuted: Bool = false) {
        self.source = source
        self.isMuted = isMuted
        defaultExecutor = executor
        // The type is no argument here: for a generic function the runtime would look for a conformance of `UInt64` in
        // all images, which takes a tenth of a millisecond in a process's first publisher.
        let room = allocateAlone(byteCount: MemoryLayout<Atomic<UInt64>>.size)
        offered = room.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
        offered.initialize(to: Atomic(0))
    }

    deinit {
        for channel in channelsInOrder { channel.publisherWasReleased() }
        wanted.publisherWasReleased()
        offered.deinitialize(count: 1)
        UnsafeMutableRawPointer(offered).deallocate()
    }

    // MARK: - Shared

    private static let standard = EventPublisher()
    @TaskLocal private static var replacement: EventPublisher?

    /// The process's shared publisher, or the one that `withShared` put in its place for the current task.
    public static var shared: EventPublisher { replacement ?? standard }

    /// Replaces ``shared`` for the current task while `body` runs, and for the tasks that `body` starts undetached.
    ///
    /// Handlers on queues and asynchronous handlers run outside your task: there, ``shared`` is not replaced. Give them
    /// their publisher when you make them.
    public static func withShared<R>(_ publisher: EventPublisher, _ body: () throws -> R) rethrows -> R {
        try $replacement.withValue(publisher, operation: body)
    }

    /// Replaces ``shared`` for the current task while `body` runs, and for the tasks that `body` starts undetached.
    public static func withShared<R>(_ publisher: EventPublisher, _ body: () async throws -> R) async rethrows -> R {
        try await $replacement.withValue(publisher, operation: body)
    }

    // MARK: - Publishing

    /// Publishes an event: puts it into all outboxes and strands (queues, tasks, sequences) that want it, lets it leave
    /// the outboxes, then calls the handlers on this thread.
    ///
    /// This never throws. Apart from the handlers on this thread, it waits only for a journal that has no new segment
    /// yet. If an outbox is at its hard limit, the bridge by default drops the event for that link, counts it and
    /// announces the loss; ``send(_:)-(E)`` waits instead. Handlers on the publishing thread cost no allocation. A
    /// queue that goes from idle to busy costs one block, and an asynchronous handler that does so costs one task.
    @inlinable
    public func publish<E: DomainEvent>(_ event: E) {
        if openTransactions.load(ordering: .relaxed) != 0 { return publishInTransaction(event, causedBy: nil) }
        if let found = channels.channel(for: UInt(bitPattern: ObjectIdentifier(E.self).hashKey)) {
            // The table maps a type's own identity to the channel that was made for it.
            return found._withUnsafeGuaranteedRef {
                unsafeDowncast($0, to: EventChannel<E>.self).publish(event, from: self)
            }
        }
        channel(of: E.self).publish(event, from: self)
    }

    /// Publishes an event with another event as its cause; for threads, queues and tasks that a handler started.
    public func publish<E: DomainEvent>(_ event: E, causedBy cause: EventContext) {
        if openTransactions.load(ordering: .relaxed) != 0 { return publishInTransaction(event, causedBy: cause) }
        channel(of: E.self).publishFully(event, from: self, causedBy: cause, on: .current)
    }

    /// Publishes an event with its own place in a distributed trace, instead of the place of the event being handled.
    ///
    /// The events that its handlers publish, here and in other processes, carry the same `traceparent`.
    public func publish<E: DomainEvent>(_ event: E, traceparent: Traceparent) {
        publish(event, to: channel(of: E.self), traceparent: traceparent)
    }

    func publish<E: DomainEvent>(_ event: E, to channel: EventChannel<E>, traceparent: Traceparent) {
        publish(event, to: channel, makeContext(causedBy: EventContext.current, traceparent: traceparent))
    }

    func publish<E: DomainEvent>(_ event: E, to channel: EventChannel<E>, _ context: EventContext) {
        let stamp = EventStamp.full(context)
        if let transaction = Transaction.current(of: self), transaction.hold(event, stamp, of: channel) { return }
        channel.publish(event, stamp, from: self)
    }

    @usableFromInline
    func publishInTransaction<E: DomainEvent>(_ event: E, causedBy cause: EventContext?) {
        publishInTransaction(event, to: channel(of: E.self), causedBy: cause)
    }

    func publishInTransaction<E: DomainEvent>(_ event: E, to channel: EventChannel<E>, causedBy cause: EventContext?) {
        guard let transaction = Transaction.current(of: self) else {
            guard let cause else { return channel.publish(event, from: self) }
            return channel.publishFully(event, from: self, causedBy: cause, on: .current)
        }
        let stamp = stamp(causedBy: cause ?? EventContext.current)
        if !transaction.hold(event, stamp, of: channel) { channel.publish(event, stamp, from: self) }
    }

    func publishFailure(
        of type: any DomainEvent.Type,
        named name: String,
        context: EventContext,
        error: any Error,
        site: SubscriptionSite
    ) {
        // Otherwise a handler that throws on every event, reports among them, would cause endless reports.
        guard !type._isSelfReport else { return }
        let failure = HandlerFailed(
            event: name,
            id: context.id.description,
            error: "\(error)",
            handler: site.description
        )
        channel(of: HandlerFailed.self).publishFully(failure, from: self, causedBy: context, on: .current)
    }

    /// Makes the context of an event that the calling code publishes: its cause is the event that this code handles.
    func makeContext() -> EventContext { makeContext(causedBy: EventContext.current) }

    /// Makes the context of an event that a handler publishes, without a reference to anything; nil, and no number is
    /// taken, if the event inherits a trace.
    ///
    /// Valid as long as this publisher lives, and the event that the handler got is in hand.
    ///
    /// - Parameter thread: the calling thread's.
    func makeCausedContext(on thread: DeliveryThread) -> BorrowedContext? {
        guard let cause = thread.causeInHand else { return nil }
        return BorrowedContext(
            source: .passUnretained(source),
            number: nextNumber(),
            nanosecondsSinceEpoch: WallTime.now(),
            cause: cause.borrowedID,
            root: cause.root
        )
    }

    private func makeID() -> EventID { EventID(source: source, number: nextNumber()) }

    func nextNumber() -> UInt64 { offered.pointee.wrappingAdd(1, ordering: .relaxed).newValue }

    /// - Parameters:
    ///   - isRoot: whether the event begins a new chain of causes.
    ///   - traceparent: used instead of the causing event's.
    package func makeContext(
        causedBy cause: EventContext?,
        isRoot: Bool = false,
        traceparent: Traceparent? = nil,
        bookmark: WorkerBookmark? = nil
    ) -> EventContext {
        let id = makeID()
        return EventContext(
            id: id,
            nanosecondsSinceEpoch: WallTime.now(),
            cause: cause?.id,
            root: isRoot ? id : cause?.root,
            traceparent: traceparent ?? cause?.traceparent,
            bookmark: bookmark
        )
    }

    /// Makes the context of an event in its smallest form: number and time if nothing caused the event.
    func stamp(causedBy cause: EventContext?) -> EventStamp {
        if let cause { return .full(makeContext(causedBy: cause)) }
        return .fresh(number: nextNumber(), nanosecondsSinceEpoch: WallTime.now())
    }

    // MARK: - Channels

    @inlinable
    package func channel<E: DomainEvent>(of type: E.Type) -> EventChannel<E> {
        let key = UInt(bitPattern: ObjectIdentifier(type).hashKey)
        if let found = channels.channel(for: key) {
            // The table maps a type's own identity to the channel that was made for it just below.
            return found._withUnsafeGuaranteedRef { unsafeDowncast($0, to: EventChannel<E>.self) }
        }
        return makeChannel(of: type, key: key)
    }

    @usableFromInline
    func makeChannel<E: DomainEvent>(of type: E.Type, key: UInt) -> EventChannel<E> {
        let name = EventNames.register(type)
        let (known, observers) = lock.withLock {
            (channelsByName[EventName(name)] ?? addChannel(EventChannel<E>.self, name: name), self.observers)
        }
        if known.isUntyped { EventNames.stop(type, usedUntyped: name) }
        // Another thread may be making the channel as well: for the same type, as no other type has this name. Then
        // both threads tell the observers.
        let channel = unsafeDowncast(known, to: EventChannel<E>.self)
        for observer in observers { observer.channelWasMade(channel) }
        // Now `publish` may find the channel without a lock: the observers that want all events already know of the
        // channel.
        lock.withLock {
            if channels.channel(for: key) == nil { channels.insert(channel, key: key) }
        }
        return channel
    }

    /// Makes the channel of a name that has none; called with the lock held.
    private func addChannel<E: DomainEvent>(_ type: EventChannel<E>.Type, name: String) -> AnyEventChannel {
        let forwarders = (forwarders[EventName(name)] ?? []).map(\.forwarder)
        let channel = EventChannel<E>(name: name, forwarders: forwarders, isMuted: isMuted)
        channelsByName[EventName(name)] = channel
        return channel
    }

    /// The channel of the untyped events of this name.
    ///
    /// - Throws: ``DeliveryError`` if the name is invalid, or belongs to a type.
    func untypedChannel(named name: String) throws(DeliveryError) -> EventChannel<UntypedEvent> {
        let key = EventName(name)
        if let known = lock.withLock({ untypedChannels[key] }) { return known }
        if let mistake = EventName.mistake(in: name) { throw UntypedEvent.error(name, mistake) }
        let (known, observers) = lock.withLock {
            let known = channelsByName[key]
            if known == nil, reserved.contains(key) { return (nil as AnyEventChannel?, self.observers) }
            return (known ?? addChannel(EventChannel<UntypedEvent>.self, name: name), self.observers)
        }
        guard let known, known.isUntyped else { throw UntypedEvent.nameHasType(name, known?.eventType) }
        let channel = unsafeDowncast(known, to: EventChannel<UntypedEvent>.self)
        // As with types: all observers know the channel before another thread can find it.
        for observer in observers { observer.channelWasMade(channel) }
        lock.withLock { untypedChannels[key] = channel }
        return channel
    }

    /// Keeps these names from being used for untyped events; this process may use their types at any time.
    package func reserve(_ names: Set<EventName>) {
        lock.withLock { reserved.formUnion(names) }
    }

    /// The one strand of all deliveries on this queue.
    func strand(on executor: StrandExecutor) -> DeliveryStrand {
        let (strand, living): (DeliveryStrand, [DeliveryStrand]) = lock.withLock {
            if let strand = strands[executor.identity]?.object { return (strand, []) }
            let living = strands.removeDead().living
            let strand = DeliveryStrand(executor: executor)
            strands.insert(strand, (), for: executor.identity)
            return (strand, living)
        }
        // These may be the last references to strands and their queues, so they are released without the lock.
        withExtendedLifetime(living) {}
        return strand
    }

    // MARK: - Objects without a subscription to keep

    /// Subscribes an object, unless it is subscribed already.
    func keep(_ consumer: AnyObject, _ pending: PendingSubscription) {
        let key = ObjectIdentifier(consumer)
        let (left, unused): (Subscription?, [AnyObject]) = lock.withLock {
            if consumers[key] != nil { return (nil, []) }
            let (subscription, unused) = pending.begin()
            // A dead object may have had the same address.
            return (consumers.insert(consumer, subscription, for: key), unused)
        }
        withExtendedLifetime(unused) {}
        left?.cancel()
        // Also for an object that is subscribed already: the thread that has subscribed it may still be about to
        // announce that.
        pending.announce()
    }

    func drop(_ consumer: AnyObject) {
        lock.withLock { consumers.remove(ObjectIdentifier(consumer)) }?.cancel()
    }

    func removeDeadConsumers() {
        // The objects that live are released without the lock: another thread may have released an object meanwhile,
        // and the object's deinit may publish or cancel.
        let (left, living) = lock.withLock { consumers.removeDead() }
        for subscription in left { subscription.cancel() }
        withExtendedLifetime(living) {}
    }

    /// The names of events that other processes want; the sequence ends when its task is cancelled or the publisher is
    /// released.
    ///
    /// Each iterator gets the present names at once, even if there are none, and then the names after each change. A
    /// consumer that is slow gets only the newest names. A program that takes events from elsewhere, such as a gateway,
    /// learns here which events are worth taking. If a process wants all events, it wants each name that this process
    /// knows.
    public var wantedEventNames: WantedEventNames { WantedEventNames(wanted) }

    // MARK: - For a bridge

    func announceInterest(in name: String) {
        for observer in lock.withLock({ observers }) { observer.interestMayHaveChanged(in: name) }
    }

    /// The channel of the events with this name; nil if the name has not been used with this publisher.
    package func channel(named name: String) -> AnyEventChannel? {
        lock.withLock { channelsByName[EventName(name)] }
    }

    /// Whether a subscriber here wants the events of this name.
    package func isWanted(_ name: String) -> Bool {
        channel(named: name)?.hasSubscribers ?? false
    }

    package func addInterestObserver(_ observer: any InterestObserver) {
        let known = lock.withLock {
            observers.append(observer)
            if observer.isBridge { hasHadBridge.store(true, ordering: .relaxed) }
            return channelsInOrder
        }
        for channel in known { observer.channelWasMade(channel) }
    }

    /// All channels, sorted by name; a new observer learns of them, and numbers them, in this order.
    ///
    /// Read with the lock held, or in the deinit.
    private var channelsInOrder: [AnyEventChannel] { channelsByName.values.sorted { $0.name < $1.name } }

    package func removeInterestObserver(_ observer: any InterestObserver) {
        lock.withLock { observers.removeAll { $0 === observer } }
    }

    /// Tells the consumers of ``wantedEventNames`` of changes; called after ``setForwarding(of:by:to:)``, without any
    /// lock held.
    package func forwardingWasSet() { wanted.tellWatchers() }

    /// Whether every bridge that carried this publisher's events has shut down; false if there was none.
    var hasLostItsBridge: Bool {
        hasHadBridge.load(ordering: .relaxed) && lock.withLock { !observers.contains { $0.isBridge } }
    }

    /// Makes `forwarder` the owner's forwarder of this name, in place of an earlier one, for every event that is
    /// published after this has returned.
    ///
    /// A `publish` that is under way may still use the earlier forwarder, which lives at least until that call ends.
    ///
    /// - Parameter forwarder: nil if the owner no longer forwards events of this name.
    /// - Returns: Objects that the caller releases without any lock held, as they may be the last to hold a handler.
    @discardableResult
    package func setForwarding(
        of name: String,
        by owner: AnyObject,
        to forwarder: (any EventForwarder)?
    ) -> [AnyObject] {
        lock.withLock {
            var list = forwarders[EventName(name)] ?? []
            list.removeAll { $0.owner == ObjectIdentifier(owner) }
            if let forwarder { list.append((ObjectIdentifier(owner), forwarder)) }
            forwarders[EventName(name)] = list.isEmpty ? nil : list
            wanted.set(EventName(name), isWanted: list.contains { $0.forwarder.isWantedElsewhere })
            // Inside the lock: two changes must reach the channel in the order in which they reached the table.
            return channelsByName[EventName(name)]?.setForwarders(list.map(\.forwarder)) ?? []
        }
    }
}

extension ObjectIdentifier {
    @usableFromInline var hashKey: Int { Int(bitPattern: self) }
}
