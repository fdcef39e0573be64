import BridgePlatform
import DomainEvents

/// Owed events of one source, recorded in the order of their numbers, without strikes and letters.
///
/// This is a pure value. A running host owes nearly all of its events in this way, and receivers mostly settle them
/// from the oldest on. So an event is found by its number, without a hash, and as long as only a few events are owed at
/// a time, they take no new memory.
struct OwedQueue: Sendable {
    private struct Slot: Sendable {
        let number: UInt64
        /// Nil if the event has left.
        var entry: CustodyEntry?
    }

    /// Nil before the first event.
    private var source: EventSource?
    /// In the order of their numbers.
    private var slots: [Slot] = []
    /// The place of the oldest event; the end if there is none.
    private var first = 0
    /// How many events there are.
    private var count = 0

    /// How many slots without an event stay in any case.
    ///
    /// If there are more of them than this number and the number of events together, all are removed at once.
    private static let fewSlots = 256

    var isEmpty: Bool { count == 0 }

    /// The event that was recorded first; nil if there is none.
    var oldest: CustodyEntry? { isEmpty ? nil : slots[first].entry }

    /// Adds an event that is not in the queue.
    ///
    /// - Returns: Whether the event was added; false if it is of another source than those before it, or if its number
    ///   is not higher than theirs.
    mutating func append(_ id: EventID, _ entry: CustodyEntry) -> Bool {
        let isNext = source == id.source && (slots.isEmpty || slots[slots.count - 1].number < id.number)
        if !isNext {
            guard isEmpty else { return false }
            source = id.source
            slots.removeAll(keepingCapacity: true)
            first = 0
        }
        slots.append(Slot(number: id.number, entry: entry))
        count += 1
        return true
    }

    /// The place of an event, which holds only until some event leaves; nil if the event is not in the queue.
    func place(of id: EventID) -> Int? {
        guard !isEmpty, id.source == source else { return nil }
        let place = place(from: id.number)
        guard place < slots.count, slots[place].number == id.number, slots[place].entry != nil else { return nil }
        return place
    }

    /// The first place, from the oldest event on, whose number is not lower than `number`; the end if there is none.
    private func place(from number: UInt64) -> Int {
        guard first < slots.count, slots[first].number < number else { return first }
        guard slots[slots.count - 1].number >= number else { return slots.count }
        // If no number is missing in between, the difference of the numbers gives the place.
        var high = slots.count - 1
        let distance = number - slots[first].number
        if distance < UInt64(slots.count - first) {
            let place = first + Int(distance)
            if slots[place].number == number { return place }
            high = place
        }
        return slots[(first + 1)..<high].partitioningIndex { $0.number >= number }
    }

    /// Adds further receivers of an event: see ``CustodyEntry/owe(_:as:)``.
    mutating func owe(_ receivers: [OwedReceiver], as debt: CustodyEntry.Debt, at place: Int) {
        slots[place].entry?.owe(receivers, as: debt)
    }

    /// Ends debts of the events of a range of any length; an event without a debt leaves.
    mutating func end(
        _ source: EventSource,
        _ range: ClosedRange<UInt64>,
        where isOver: (CustodyEntry.Debt) -> Bool
    ) {
        guard !isEmpty, source == self.source else { return }
        var place = place(from: range.lowerBound)
        while place < slots.count, slots[place].number <= range.upperBound {
            if slots[place].entry?.end(where: isOver) == true { leave(place) }
            place += 1
        }
        tidy()
    }

    /// Takes an event out.
    mutating func take(at place: Int) -> CustodyEntry? {
        let entry = slots[place].entry
        leave(place)
        tidy()
        return entry
    }

    private mutating func leave(_ place: Int) {
        slots[place].entry = nil
        count -= 1
    }

    /// Finds the oldest event again after events have left, and removes their slots if they are many.
    private mutating func tidy() {
        while first < slots.count, slots[first].entry == nil { first += 1 }
        guard slots.count - count > count + Self.fewSlots else { return }
        if slots.capacity > 8 * Self.fewSlots {
            slots = slots.filter { $0.entry != nil }
        } else {
            slots.removeAll { $0.entry == nil }
        }
        first = 0
    }
}
