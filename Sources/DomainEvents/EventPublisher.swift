import Dispatch
import Locks
import Synchronization

/// Publishes domain events and delivers them to subscribers, in this process and, through a bridge, in others.
///
/// ```swift
/// let publisher = EventPublisher()
/// let subscription = publisher.subscribe(to: BoxProvisioned.self) { event in print(event.label) }
/// publisher.publish(BoxProvisioned(boxID: 7, label: "Books"))
/// ```
///
/// - If one `publish` returned before another began (on one thread, task or actor), every subscriber sees the two in that
///   order, wherever its handler runs.
/// - What a handler publishes is delivered after the event in hand has reached all its subscribers, and before the
///   outermost `publish` returns. Handlers may publish, subscribe and cancel freely.
/// - `publish` never waits for a subscriber and holds no lock while a handler runs.
///
/// All members may be used from any thread.
public final class EventPublisher: @unchecked Sendable {
    // Sendable: `channels` publishes itself atomically; the rest is guarded by `lock` or constant.

    @usableFromInline let channels = ChannelTable()
    /// Who offers this publisher's events: `host`, or the worker's name.
    package let source: EventSource
    private let offered = Atomic<UInt64>(0)

    private let lock = Lock()
    private var channelsByName: [String: AnyEventChannel] = [:]
    private var forwarders: [String: [any EventForwarder]] = [:]
    private var observers: [any InterestObserver] = []

    /// Makes a publisher of its own, independent of every other.
    public convenience init() {
        self.init(origin: "host")
    }

    package convenience init(origin: String) {
        self.init(source: EventSource(origin: origin, incarnation: .random(in: 1 ... .max)))
    }

    package init(source: EventSource) {
        self.source = source
    }

    deinit {
        for channel in channelsByName.values { channel.publisherWasReleased() }
    }

    // MARK: - Shared

    private static let standard = EventPublisher()
    @TaskLocal private static var replacement: EventPublisher?

    /// The process's shared publisher, or the one that ``withShared(_:_:)`` put in its place for the current task.
    public static var shared: EventPublisher { replacement ?? standard }

    /// Replaces ``shared`` while `body` runs, for the current task and the child tasks that it starts.
    public static func withShared<R>(_ publisher: EventPublisher, _ body: () throws -> R) rethrows -> R {
        try $replacement.withValue(publisher, operation: body)
    }

    /// Replaces ``shared`` while `body` runs, for the current task and the child tasks that it starts.
    public static func withShared<R>(_ publisher: EventPublisher, _ body: () async throws -> R) async rethrows -> R {
        try await $replacement.withValue(publisher, operation: body)
    }

    // MARK: - Publishing

    /// Publishes an event: into every outbox that wants it, then to the subscribers here.
    ///
    /// Never waits and never throws. Where an outbox is at its hard limit the event is dropped for that link, counted and
    /// announced; use ``send(_:)`` to wait for room instead.
    @inlinable
    public func publish<E: DomainEvent>(_ event: E) {
        channel(of: E.self).publish(event, from: self)
    }

    /// Publishes an event as caused by another one, from a thread, queue or task that a handler started.
    public func publish<E: DomainEvent>(_ event: E, causedBy cause: EventContext) {
        channel(of: E.self).publish(event, from: self, causedBy: cause)
    }

    /// Waits until every link that wants the event has room, then publishes it.
    ///
    /// Inside a handler nothing waits: up to the hard limit the event is taken, beyond it this throws.
    /// - Throws: ``DeliveryError`` if no room will come or the hard limit is reached inside a handler; `CancellationError` if the
    ///   task was cancelled while it waited, and then the event was not published.
    /// - Returns: The event's identity, once it lies in every outbox that wants it.
    @discardableResult
    public func send<E: DomainEvent>(_ event: E) async throws -> EventID {
        let channel = channel(of: E.self)
        if !DeliveryThread.current.isDelivering, EventContext.handledByTask == nil {
            for forwarder in channel.forwarders where !forwarder.hasRoom { try await forwarder.waitForRoom() }
        }
        return try channel.send(event, from: self)
    }

    func publishFailure<E: DomainEvent>(of type: E.Type, context: EventContext, error: any Error) {
        guard E.self != HandlerFailed.self else { return }
        publish(
            HandlerFailed(event: channel(of: E.self).name, id: context.id.description, error: "\(error)"),
            causedBy: context
        )
    }

    package func makeContext(causedBy cause: EventContext?) -> EventContext {
        let number = offered.wrappingAdd(1, ordering: .relaxed).newValue
        return EventContext(
            id: EventID(source: source, number: number),
            nanosecondsSinceEpoch: WallTime.now(),
            cause: cause?.id,
            root: cause?.root
        )
    }

    // MARK: - Subscribing

    /// Calls `handler` for each event, on the thread that publishes it.
    ///
    /// For events from other processes that is the thread that reads them. The subscription ends when it is released or
    /// cancelled. What the handler throws is published as ``HandlerFailed``, or refused to the process that sent the event.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        _ handler: @escaping @Sendable (E) throws -> Void
    ) -> Subscription {
        let subscriber = InlineSubscriber(handler)
        let channel = channel(of: type)
        channel.add(subscriber)
        return started(subscriber, on: channel)
    }

    /// Calls `handler` for each event on the main actor: in order, without making the publisher wait.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        on context: MainDelivery,
        _ handler: @escaping @MainActor @Sendable (E) throws -> Void
    ) -> Subscription {
        subscribe(
            to: type,
            deferred: QueueMailbox<E>(queue: .main, publisher: self) { event in
                // The main queue runs its blocks on the main actor's executor.
                try MainActor.assumeIsolated { try handler(event) }
            }
        )
    }

    /// Calls `handler` for each event on a dispatch queue: in order and one at a time, also on a concurrent queue.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        on context: QueueDelivery,
        _ handler: @escaping @Sendable (E) throws -> Void
    ) -> Subscription {
        subscribe(to: type, deferred: QueueMailbox<E>(queue: context.queue, publisher: self, handler: handler))
    }

    /// Calls an asynchronous `handler` for each event: in order, each call beginning when the one before has returned.
    ///
    /// A handler that belongs to an actor is entered on that actor: once the subscription was cancelled there, nothing of it
    /// begins. An event from another process counts as handled when the call has returned.
    public func subscribe<E: DomainEvent>(
        to type: E.Type,
        _ handler: @escaping @isolated(any) @Sendable (E) async throws -> Void
    ) -> Subscription {
        subscribe(to: type, deferred: TaskMailbox<E>(publisher: self, handler: handler))
    }

    /// The events of one type as an asynchronous sequence; any number of consumers, each of which sees every event.
    ///
    /// Subscribed from the moment this returns; each further iterator from when it is made.
    public func events<E: DomainEvent>(of type: E.Type) -> EventSequence<E> {
        EventSequence(publisher: self)
    }

    func subscribe<E: DomainEvent>(to type: E.Type, deferred subscriber: DeferredSubscriber<E>) -> Subscription {
        let channel = channel(of: type)
        channel.add(subscriber)
        return started(subscriber, on: channel)
    }

    private func started(_ subscriber: AnySubscriber, on channel: AnyEventChannel) -> Subscription {
        announceInterest(in: channel.name)
        return Subscription(gate: subscriber.gate, channel: channel, publisher: self)
    }

    func announceInterest(in name: String) {
        for observer in lock.withLock({ observers }) { observer.interestMayHaveChanged(in: name) }
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
        let (channel, observers) = lock.withLock {
            if let known = channelsByName[name] {
                // Being made by another thread, for the only type that has this name; whoever is first tells the observers.
                return (unsafeDowncast(known, to: EventChannel<E>.self), self.observers)
            }
            let channel = EventChannel<E>(name: name, forwarders: forwarders[name] ?? [])
            channelsByName[name] = channel
            return (channel, self.observers)
        }
        for observer in observers { observer.channelWasMade(channel) }
        // Only now does publishing find it without a lock: whoever wants all events has been told of it.
        lock.withLock {
            if channels.channel(for: key) == nil { channels.insert(channel, key: key) }
        }
        return channel
    }

    // MARK: - For a bridge

    /// The channel of the event type with this name, if the process has used the type with this publisher.
    package func channel(named name: String) -> AnyEventChannel? {
        lock.withLock { channelsByName[name] }
    }

    /// Whether anybody here subscribes to the events of this name.
    package func isWanted(_ name: String) -> Bool {
        channel(named: name)?.hasSubscribers ?? false
    }

    package func addInterestObserver(_ observer: any InterestObserver) {
        let known = lock.withLock {
            observers.append(observer)
            return Array(channelsByName.values)
        }
        for channel in known { observer.channelWasMade(channel) }
    }

    package func removeInterestObserver(_ observer: any InterestObserver) {
        lock.withLock { observers.removeAll { $0 === observer } }
    }

    /// From when this returns, every event of this name that is published goes to `forwarder`, or no longer does.
    package func setForwarding(of name: String, to forwarder: any EventForwarder, wanted: Bool) {
        lock.withLock {
            var list = forwarders[name] ?? []
            list.removeAll { $0 === forwarder }
            if wanted { list.append(forwarder) }
            forwarders[name] = list.isEmpty ? nil : list
            // Inside the lock: two changes must reach the channel in the order in which they reached the table.
            channelsByName[name]?.setForwarders(list)
        }
    }
}

extension ObjectIdentifier {
    @usableFromInline var hashKey: Int { Int(bitPattern: self) }
}
