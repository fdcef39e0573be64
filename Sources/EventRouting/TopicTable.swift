import Synchronization

/// Finds the topic of an event name by its number; this needs no lock, because topics are only ever added.
///
/// It has room for all numbers from the beginning; the unused part takes address space and no memory.
final class TopicTable: @unchecked Sendable {
    // Sendable: a topic is written before `count` includes it, and never changes after that. There is one writer at a
    // time.
    private let topics: UnsafeMutablePointer<Topic>
    private let capacity: Int
    private let count = Atomic<Int>(0)

    init(capacity: Int) {
        self.capacity = capacity
        topics = .allocate(capacity: capacity)
    }

    deinit {
        topics.deinitialize(count: count.load(ordering: .relaxed))
        topics.deallocate()
    }

    /// Adds a topic under the next number; the caller makes sure that no other thread adds a topic at the same time.
    func append(_ topic: Topic) {
        let position = count.load(ordering: .relaxed)
        precondition(position < capacity, "no more names are given out than the table has room for")
        (topics + position).initialize(to: topic)
        count.store(position + 1, ordering: .releasing)
    }

    /// The topic with this number, from 1, which lives as long as the table; nil if the number was not given out.
    subscript(number: UInt64) -> Unmanaged<Topic>? {
        guard number > 0, number <= UInt64(count.load(ordering: .acquiring)) else { return nil }
        return .passUnretained(topics[Int(number) - 1])
    }
}
