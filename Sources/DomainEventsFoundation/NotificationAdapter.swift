public import DomainEvents
public import Foundation
import Locks
import Synchronization

/// Connects typed events and Foundation's notifications, in both directions.
///
/// Existing observers get events as notifications, and typed subscribers get what is posted.
///
/// ```swift
/// let adapter = NotificationAdapter(publisher) { error in logger.error("\(error)") }
/// adapter.exchange(BoxProvisioned.self)                     // both ways, under the event's name
/// adapter.post(BoxRemoved.self, as: .boxWasRemoved)         // events to notifications
/// adapter.publish(CanvasSaved.self, from: .canvasDidSave)   // notifications to events
/// ```
///
/// - An event's fields are the notification's `userInfo`. Nested types become dictionaries; numbers, dates, data,
///   UUIDs, URLs and decimals stay what they are. An event that is a single value or an array becomes the entry
///   `value`. The notification's `object` is a ``PostedEvent``.
/// - A notification whose dictionary does not fit the event is reported to `onError`, and no subscriber gets it.
/// - Publishing does not wait for observers. The adapter posts notifications on one queue, by default its own, in the
///   order in which the events were published, whatever their types. (On Linux the center's `post` waits for all work
///   of the operation queue that an observer names.) Observers that name no queue run on the adapter's queue.
/// - The adapter publishes a posted notification as an event on the posting thread, before `post` returns. If a handler
///   posts the notification, handlers on the publishing thread get the event after that handler has returned.
/// - Nothing goes round in circles: no event comes back to a publisher or center where it has been. An event that has
///   passed eight of these goes no further. Give a publisher and a center one adapter only: two would post everything
///   twice.
///
/// The adapter ends when it is released or cancelled. All members may be used from any thread.
public final class NotificationAdapter: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let publisher: EventPublisher
    private let center: NotificationCenter
    private let delivery: QueueDelivery
    private let onError: @Sendable (NotificationError) -> Void
    private let isOpen = OpenState()

    private let lock = Lock()
    private var ways: Set<Way> = []
    private var subscriptions: [Subscription] = []
    private var observers: [any NSObjectProtocol] = []

    /// An event type and the name of its notification, in one direction.
    private struct Way: Hashable {
        let event: ObjectIdentifier
        let name: Notification.Name
        let posts: Bool
    }

    /// Makes an adapter that carries nothing yet.
    ///
    /// - Parameters:
    ///   - publisher: where events are published.
    ///   - center: where notifications are posted.
    ///   - queue: where notifications are posted from; nil for a queue of the adapter's own. With `.queue(.main)`
    ///     observers run on the main thread, as an application's observers expect.
    ///   - onError: called, on the thread of the failure, for each notification that could not become an event and each
    ///     event that could not be posted.
    public init(
        _ publisher: EventPublisher,
        center: NotificationCenter = .default,
        postingOn queue: QueueDelivery? = nil,
        onError: @escaping @Sendable (NotificationError) -> Void
    ) {
        self.publisher = publisher
        self.center = center
        delivery = queue ?? .queue(DispatchQueue(label: "notifications"))
        self.onError = onError
    }

    deinit {
        cancel()
    }

    /// Carries events of this type both ways, as notifications of `name`; nil stands for the event's own name.
    public func exchange<E: DomainEvent>(
        _ type: E.Type,
        as name: Notification.Name? = nil,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        post(type, as: name, file: file, line: line)
        publish(type, from: name)
    }

    /// Posts a notification for each event of this type from now on, under `name`; nil stands for the event's own name.
    ///
    /// Does nothing if the adapter already posts events of this type under this name.
    public func post<E: DomainEvent>(
        _ type: E.Type,
        as name: Notification.Name? = nil,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        let name = name ?? Notification.Name(E.eventName)
        guard begin(Way(event: ObjectIdentifier(type), name: name, posts: true)) else { return }
        let post = makePost(of: type, as: name)
        let subscription = publisher.subscribe(to: type, on: delivery, file: file, line: line, post)
        let isKept = lock.withLock {
            if isOpen.value { subscriptions.append(subscription) }
            return isOpen.value
        }
        if !isKept { subscription.cancel() }
    }

    /// Publishes an event for each notification of this name from now on.
    ///
    /// Does nothing if the adapter already publishes events of this type for this name.
    /// - Parameters:
    ///   - type: the type of the event.
    ///   - name: the notification's name; nil stands for the event's own name.
    public func publish<E: DomainEvent>(_ type: E.Type, from name: Notification.Name? = nil) {
        let name = name ?? Notification.Name(E.eventName)
        guard begin(Way(event: ObjectIdentifier(type), name: name, posts: false)) else { return }
        let publish = makePublish(of: type, from: name)
        let observer = center.addObserver(forName: name, object: nil, queue: nil, using: publish)
        let isKept = lock.withLock {
            if isOpen.value { observers.append(observer) }
            return isOpen.value
        }
        if !isKept { center.removeObserver(observer) }
    }

    /// Notes a way; returns false if the adapter knows the way already or has ended.
    private func begin(_ way: Way) -> Bool {
        lock.withLock { isOpen.value && ways.insert(way).inserted }
    }

    /// Ends the adapter: once this has returned, no event becomes a notification, and no notification an event.
    ///
    /// What another thread is posting or publishing during the call may still arrive. Further calls do nothing.
    public func cancel() {
        let (observers, subscriptions) = lock.withLock {
            isOpen.close()
            defer { (self.observers, self.subscriptions) = ([], []) }
            return (self.observers, self.subscriptions)
        }
        for observer in observers { center.removeObserver(observer) }
        for subscription in subscriptions { subscription.cancel() }
    }

    // MARK: - The two ways

    private func makePost<E: DomainEvent>(of type: E.Type, as name: Notification.Name) -> @Sendable (E) -> Void {
        let (here, there) = (NotificationStations.number(of: publisher), NotificationStations.number(of: center))
        return { [center, onError] event in
            // Every handler has a context.
            guard let context = EventContext.current else { return }
            let route = NotificationRoute(of: context)
            guard route.going(to: there) != nil else { return }
            do {
                let userInfo = try UserInfoEncoder.encode(event)
                // The route leaves out the center: the adapter that makes an event of the notification adds the center.
                let origin = PostedEvent(context: context, route: route.going(to: here) ?? route)
                center.post(name: name, object: origin, userInfo: userInfo)
            } catch {
                onError(NotificationError(.notEncodable, name, E.eventName, error))
            }
        }
    }

    private func makePublish<E: DomainEvent>(
        of type: E.Type,
        from name: Notification.Name
    ) -> @Sendable (Notification) -> Void {
        let (here, there) = (NotificationStations.number(of: publisher), NotificationStations.number(of: center))
        // The center keeps this closure, and must not keep the publisher alive through it.
        return { [weak publisher, isOpen, onError] notification in
            guard isOpen.value, let publisher else { return }
            let posted = notification.object as? PostedEvent
            let route = posted?.route ?? .empty
            guard route.going(to: here) != nil, let onward = route.going(to: there) else { return }
            do throws(NotificationError) {
                let event = try Self.event(type, from: notification)
                let id = EventID(origin: onward.origin, incarnation: there, number: isOpen.nextNumber())
                let source = posted?.context ?? EventContext.current
                let cause = EventContext(
                    id: id,
                    nanosecondsSinceEpoch: 0,
                    root: source?.root,
                    traceparent: source?.traceparent
                )
                publisher.publish(event, causedBy: cause)
            } catch {
                onError(error)
            }
        }
    }

    private static func event<E: DomainEvent>(
        _ type: E.Type,
        from notification: Notification
    ) throws(NotificationError) -> E {
        let event: E
        do {
            event = try UserInfoDecoder.decode(type, from: notification.userInfo)
        } catch {
            throw NotificationError(.notDecodable, notification.name, E.eventName, error)
        }
        do {
            try event.validate()
        } catch {
            throw NotificationError(.invalid, notification.name, E.eventName, error)
        }
        return event
    }
}

/// Whether an adapter still carries anything; an observer that is called while the adapter ends checks this.
private final class OpenState: Sendable {
    private let isClosed = Atomic<Bool>(false)
    private let numbers = Atomic<UInt64>(0)

    var value: Bool { !isClosed.load(ordering: .acquiring) }

    func close() { isClosed.store(true, ordering: .releasing) }

    /// The number of the next notification that becomes an event.
    func nextNumber() -> UInt64 { numbers.wrappingAdd(1, ordering: .relaxed).newValue }
}
