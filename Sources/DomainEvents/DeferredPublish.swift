import Synchronization

/// The publishing of an event that waits until the event in hand has reached all its subscribers.
class AnyDeferredPublish {
    func run(on thread: DeliveryThread) {}
}

/// An event that a handler published, with the routes of that moment.
final class DeferredPublish<E: DomainEvent>: AnyDeferredPublish {
    private struct Content {
        let event: E
        let context: EventContext
        let stops: DeliveryStops<E>
    }

    private var content: Content?
    /// The next unused one of the pool.
    fileprivate var next: DeferredPublish?
    /// How many unused ones follow.
    fileprivate var followers = 0

    fileprivate func fill(_ event: E, _ context: EventContext, _ stops: DeliveryStops<E>) {
        content = Content(event: event, context: context, stops: stops)
    }

    override func run(on thread: DeliveryThread) {
        guard let content = content.take() else { return }
        let channel = content.stops.first.channel
        thread.context = content.context
        channel.hand(content.event, context: content.context, to: content.stops, on: thread)
        channel.spares.putBack(self)
    }
}

/// Used places for events that handlers publish, so that publishing inside a handler takes no memory again and again.
///
/// A list without a lock: taking takes the whole list, keeps its first place and puts back the rest, so nobody ever acts on a
/// head that has come and gone meanwhile.
final class DeferredPublishPool<E: DomainEvent>: Sendable {
    private let head = Atomic<UInt>(0)

    /// How many unused places are kept.
    private static var limit: Int { 64 }

    deinit {
        _ = takeAll()
    }

    private func takeAll() -> DeferredPublish<E>? {
        let address = head.exchange(0, ordering: .acquiringAndReleasing)
        guard let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
        // Put there by `put`, with one reference.
        return Unmanaged<DeferredPublish<E>>.fromOpaque(pointer).takeRetainedValue()
    }

    func take(
        _ event: E,
        context: EventContext,
        stops: DeliveryStops<E>
    ) -> DeferredPublish<E> {
        let place = takeAll() ?? DeferredPublish<E>()
        if let rest = place.next.take() { put(rest) }
        place.fill(event, context, stops)
        return place
    }

    /// Keeps a list if there is none, else lets go of it: two threads at once are rare.
    private func put(_ list: DeferredPublish<E>) {
        let pointer = Unmanaged.passRetained(list)
        let address = UInt(bitPattern: pointer.toOpaque())
        let (isKept, _) = head.compareExchange(expected: 0, desired: address, ordering: .acquiringAndReleasing)
        if !isKept { pointer.release() }
    }

    fileprivate func putBack(_ place: DeferredPublish<E>) {
        let others = takeAll()
        let followers = others.map { $0.followers + 1 } ?? 0
        // A handler may publish any number at once; memory for all of them is not kept.
        if followers < Self.limit {
            place.next = others
            place.followers = followers
            put(place)
        } else if let others {
            put(others)
        }
    }
}
