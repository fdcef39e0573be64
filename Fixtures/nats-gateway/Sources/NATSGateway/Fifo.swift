/// A queue that releases an element as soon as it is removed from the front.
///
/// An array's slice would keep removed elements alive until it has to grow again.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { count == 0 }

    /// The element at an index, from 0 to `count - 1`.
    subscript(index: Int) -> Element {
        guard let element = elements[head + index] else { preconditionFailure("no element at \(index) of \(count)") }
        return element
    }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head].take()
        head += 1
        // Removes empty places once they are half of all, so each costs little. If all are empty, frees the memory,
        // unless it is small.
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= 64)
            head = 0
        } else if head >= 64, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes the elements that satisfy the condition, and returns them in order.
    mutating func remove(where isRemoved: (Element) -> Bool) -> [Element] {
        let all = elements[head...].compactMap(\.self)
        elements = all.filter { !isRemoved($0) }
        head = 0
        return all.filter(isRemoved)
    }
}

extension Fifo: Sendable where Element: Sendable {}
