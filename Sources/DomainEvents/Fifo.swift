/// First in, first out, in memory that is used again.
///
/// It belongs under its owner's lock. What is taken is moved out, so that the last reference to something in an event, whose
/// deinit may publish or cancel, is never released here.
struct Fifo<Element> {
    private var places: [Element?] = []
    private var next = 0
    /// How many were taken and no longer have a place.
    private var forgotten = 0

    var count: Int { places.count - next }

    /// The number of the element that is appended next; elements are numbered from 0 in the order of their coming.
    var endNumber: Int { forgotten + places.count }

    /// The number of the oldest element, if there is one.
    var firstNumber: Int { forgotten + next }

    mutating func append(_ element: Element) {
        places.append(element)
    }

    mutating func takeFirst() -> Element? {
        guard next < places.count else { return nil }
        let first = places[next].take()
        next += 1
        if next == places.count {
            forgotten += next
            places.removeAll(keepingCapacity: places.capacity <= 1024)
            next = 0
        } else if next >= 512, next * 2 >= places.count {
            // A line that never runs empty gives its worked-off front back now and then.
            forgotten += next
            places.removeFirst(next)
            next = 0
        }
        return first
    }

    /// Puts another element in the place of a waiting one, and returns the one before.
    mutating func replace(number: Int, with element: Element) -> Element? {
        let index = number - forgotten
        guard index >= next, index < places.count else { return nil }
        let before = places[index].take()
        places[index] = element
        return before
    }

    /// Puts an element ahead of all others, in the place from which one was just taken.
    mutating func putBack(_ element: Element) {
        if next > 0 {
            next -= 1
            places[next] = element
        } else {
            forgotten -= 1
            places.insert(element, at: 0)
        }
    }

    /// The element that would be taken next.
    var first: Element? { next < places.count ? places[next] : nil }

    /// The youngest element.
    var last: Element? { next < places.count ? places[places.count - 1] : nil }

    mutating func replaceLast(with element: Element) {
        places[places.count - 1] = element
    }

    mutating func takeAll() -> [Element] {
        defer {
            forgotten += places.count
            places = []
            next = 0
        }
        return places[next...].compactMap(\.self)
    }
}

extension Fifo: Sendable where Element: Sendable {}
