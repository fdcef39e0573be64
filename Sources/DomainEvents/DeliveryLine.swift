/// An event on its way to a handler that runs elsewhere.
struct Delivery<E: DomainEvent>: Sendable {
    let event: E
    let context: EventContext
    let tracker: IncomingTracker?
}

/// Deliveries that wait for their turn: first in, first out, in memory that is used again.
///
/// It belongs under its owner's lock. What is taken is moved out, so that the last reference to something in an event, whose
/// deinit may publish or cancel, is never released here.
struct DeliveryLine<E: DomainEvent>: Sendable {
    private var places: [Delivery<E>?] = []
    private var next = 0

    var count: Int { places.count - next }

    mutating func append(_ delivery: Delivery<E>) {
        places.append(delivery)
    }

    mutating func takeFirst() -> Delivery<E>? {
        guard next < places.count else { return nil }
        let first = places[next].take()
        next += 1
        if next == places.count {
            places.removeAll(keepingCapacity: places.capacity <= 1024)
            next = 0
        } else if next >= 512, next * 2 >= places.count {
            // A line that never runs empty gives its worked-off front back now and then.
            places.removeFirst(next)
            next = 0
        }
        return first
    }

    mutating func takeAll() -> [Delivery<E>] {
        defer {
            places = []
            next = 0
        }
        return places[next...].compactMap(\.self)
    }
}
