import Synchronization

/// An event that a handler published, with the subscribers that the event had at that moment.
///
/// The inline handlers run once the thread has delivered the event that it was delivering at that moment.
final class DeferredPublish {
    private let event: RawEvent
    private var waiting: (context: EventContext, destinations: Destinations)?
    /// The object behind this one in the pool's list.
    fileprivate var next: DeferredPublish?
    /// How many objects are behind this one in the pool's list.
    fileprivate var followers = 0

    fileprivate init(_ eventType: any DomainEvent.Type) {
        event = RawEvent(.allocate(byteCount: eventType.rawSize, alignment: 16))
    }

    deinit {
        if let waiting { waiting.destinations.first.channel.eventType.destroyRaw(event.address) }
        event.address.deallocate()
    }

    fileprivate func fill(_ event: RawEvent, _ context: EventContext, _ destinations: Destinations) {
        destinations.first.channel.eventType.copyRaw(from: event.address, to: self.event.address)
        waiting = (context, destinations)
    }

    func run(on thread: DeliveryThread) {
        guard let (context, destinations) = waiting.take() else { return }
        thread.context = context
        destinations.first.channel.callInline(event, at: destinations, on: thread)
        destinations.first.channel.spares.putBack(self)
    }
}

/// Unused places for events that handlers publish: `publish` in a handler makes a new one only if the pool is empty.
///
/// The pool is a list without a lock. ``take(_:context:destinations:)`` takes the whole list, keeps its first place and
/// puts the rest back. So no thread acts on a head that another thread has taken and put back meanwhile.
final class DeferredPublishPool: Sendable {
    private let head = Atomic<UInt>(0)

    /// How many unused places are kept at most.
    private static let limit = 64

    deinit {
        _ = takeAll()
    }

    private func takeAll() -> DeferredPublish? {
        let address = head.exchange(0, ordering: .acquiringAndReleasing)
        guard let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
        // `put` has stored the address, with one reference.
        return Unmanaged<DeferredPublish>.fromOpaque(pointer).takeRetainedValue()
    }

    func take(
        _ event: RawEvent,
        context: EventContext,
        destinations: Destinations
    ) -> DeferredPublish {
        let place = takeAll() ?? DeferredPublish(destinations.first.channel.eventType)
        if let rest = place.next.take() { put(rest) }
        place.fill(event, context, destinations)
        return place
    }

    /// Stores the list if the pool is empty, else releases it: two threads rarely use the pool at once.
    private func put(_ list: DeferredPublish) {
        let pointer = Unmanaged.passRetained(list)
        let address = UInt(bitPattern: pointer.toOpaque())
        let (isKept, _) = head.compareExchange(expected: 0, desired: address, ordering: .acquiringAndReleasing)
        if !isKept { pointer.release() }
    }

    fileprivate func putBack(_ place: DeferredPublish) {
        let others = takeAll()
        let followers = others.map { $0.followers + 1 } ?? 0
        // A handler may publish any number of events at once; the pool does not keep memory for all of them.
        if followers < Self.limit {
            place.next = others
            place.followers = followers
            put(place)
        } else if let others {
            put(others)
        }
    }
}
