import Synchronization

/// An event that a handler published, with the routes of that moment: the inline handlers get it when the event in hand
/// has reached all its subscribers.
final class DeferredPublish {
    private let event: RawEvent
    private var waiting: (context: EventContext, stops: DeliveryStops)?
    /// The next unused one of the pool.
    fileprivate var next: DeferredPublish?
    /// How many unused ones follow.
    fileprivate var followers = 0

    fileprivate init(_ eventType: any DomainEvent.Type) {
        event = RawEvent(.allocate(byteCount: eventType.rawSize, alignment: 16))
    }

    deinit {
        if let waiting { waiting.stops.first.channel.eventType.destroyRaw(event.address) }
        event.address.deallocate()
    }

    fileprivate func fill(_ event: RawEvent, _ context: EventContext, _ stops: DeliveryStops) {
        stops.first.channel.eventType.copyRaw(from: event.address, to: self.event.address)
        waiting = (context, stops)
    }

    func run(on thread: DeliveryThread) {
        guard let (context, stops) = waiting.take() else { return }
        thread.context = context
        stops.first.channel.callInline(event, at: stops, on: thread)
        stops.first.channel.spares.putBack(self)
    }
}

/// Used places for events that handlers publish, so that publishing inside a handler takes no memory again and again.
///
/// A list without a lock: taking takes the whole list, keeps its first place and puts back the rest, so no thread
/// ever acts on a head that has come and gone meanwhile.
final class DeferredPublishPool: Sendable {
    private let head = Atomic<UInt>(0)

    /// How many unused places are kept.
    private static let limit = 64

    deinit {
        _ = takeAll()
    }

    private func takeAll() -> DeferredPublish? {
        let address = head.exchange(0, ordering: .acquiringAndReleasing)
        guard let pointer = UnsafeRawPointer(bitPattern: address) else { return nil }
        // Put there by `put`, with one reference.
        return Unmanaged<DeferredPublish>.fromOpaque(pointer).takeRetainedValue()
    }

    func take(
        _ event: RawEvent,
        context: EventContext,
        stops: DeliveryStops
    ) -> DeferredPublish {
        let place = takeAll() ?? DeferredPublish(stops.first.channel.eventType)
        if let rest = place.next.take() { put(rest) }
        place.fill(event, context, stops)
        return place
    }

    /// Keeps a list if there is none, else lets go of it: two threads at once are rare.
    private func put(_ list: DeferredPublish) {
        let pointer = Unmanaged.passRetained(list)
        let address = UInt(bitPattern: pointer.toOpaque())
        let (isKept, _) = head.compareExchange(expected: 0, desired: address, ordering: .acquiringAndReleasing)
        if !isKept { pointer.release() }
    }

    fileprivate func putBack(_ place: DeferredPublish) {
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
