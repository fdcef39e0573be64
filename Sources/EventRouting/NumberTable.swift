import Synchronization

/// Finds the entry of an event name by its number, without a lock, as entries are only ever added.
///
/// It has room for all numbers from the beginning; the unused part takes address space and no memory.
final class NumberTable: @unchecked Sendable {
    // Sendable: an entry is written before `count` includes it, and never changes after that. There is one writer at a
    // time.
    private let entries: UnsafeMutablePointer<NamedEvents>
    private let capacity: Int
    private let count = Atomic<Int>(0)

    init(capacity: Int) {
        self.capacity = capacity
        entries = .allocate(capacity: capacity)
    }

    deinit {
        entries.deinitialize(count: count.load(ordering: .relaxed))
        entries.deallocate()
    }

    /// Adds an entry under the next number; the caller makes sure that no other thread adds one meanwhile.
    func append(_ entry: NamedEvents) {
        let position = count.load(ordering: .relaxed)
        precondition(position < capacity, "no more names are given out than the table has room for")
        (entries + position).initialize(to: entry)
        count.store(position + 1, ordering: .releasing)
    }

    /// The entry with this number, counted from 1, which lives as long as the table; nil if it was not given out.
    subscript(number: UInt64) -> Unmanaged<NamedEvents>? {
        guard number > 0, number <= UInt64(count.load(ordering: .acquiring)) else { return nil }
        return .passUnretained(entries[Int(number) - 1])
    }
}
