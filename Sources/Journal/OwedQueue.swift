import BridgePlatform
import DomainEvents

/// Owed events of one source, recorded in the order of their numbers, without strikes and letters.
///
/// This is a pure value. A running host owes nearly all of its events in this way, and receivers mostly settle them
/// from the oldest on. So an event is found by its number, without a hash, and as long as only a few events are owed at
/// a time, they take no new memory.
struct OwedQueue: Sendable {
    /// An event with its debts: one record has made all of them, and none has had a setback.
    ///
    /// Nearly always the array is one that the routing keeps, so a slot costs no memory of its own.
    private struct Slot: Sendable {
        let number: UInt64
        let position: UInt64
        let time: UInt64
        /// How many starts of hosts the ledger had counted.
        let hostStarts: Int
        /// The receivers that have not settled the event; empty if the event has left.
        var receivers: [OwedReceiver]

        var hasLeft: Bool { receivers.isEmpty }

        /// The same event outside the queue; only for an event that has not left.
        var entry: CustodyEntry {
            let debt = CustodyEntry.Debt(
                receiver: receivers[0],
                position: position,
                attempts: 1,
                hostStarts: hostStarts
            )
            var entry = CustodyEntry(position: position, time: time, debt)
            if receivers.count > 1 { entry.owe(receivers, as: debt) }
            return entry
        }
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
    var oldest: (position: UInt64, time: UInt64)? {
        isEmpty ? nil : (slots[first].position, slots[first].time)
    }

    /// Adds an event that is not in the queue, and is owed to these receivers.
    ///
    /// - Returns: Whether the event was added; false if it is of another source than those before it, or if its number
    ///   is not higher than theirs.
    mutating func append(
        _ id: BorrowedID,
        at position: UInt64,
        published time: UInt64,
        owedTo receivers: [OwedReceiver],
        hostStarts: Int
    ) -> Bool {
        guard !receivers.isEmpty else { return false }
        if !isNext(id) {
            guard isEmpty else { return false }
            begin(id.id.source)
        }
        slots.append(
            Slot(number: id.number, position: position, time: time, hostStarts: hostStarts, receivers: receivers)
        )
        count += 1
        return true
    }

    /// Whether an event is of the queue's source, and has a higher number than all that the queue still knows.
    private func isNext(_ id: BorrowedID) -> Bool {
        // Nearly always it is the same object. A constant for `source` would count a reference to it.
        let isSame =
            source.map { Unmanaged.passUnretained($0).toOpaque() } == id.source.toOpaque()
            || id.source._withUnsafeGuaranteedRef { $0 == source }
        return isSame && (slots.isEmpty || slots[slots.count - 1].number < id.number)
    }

    /// The queue is empty, and events of this source come.
    @inline(never)
    private mutating func begin(_ source: EventSource) {
        self.source = source
        slots.removeAll(keepingCapacity: true)
        first = 0
    }

    /// The place of an event, which holds only until some event leaves; nil if the event is not in the queue.
    func place(of id: EventID) -> Int? {
        guard !isEmpty, id.source == source else { return nil }
        let place = place(from: id.number)
        guard place < slots.count, slots[place].number == id.number, !slots[place].hasLeft else { return nil }
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

    /// Ends the debts to a receiver, of the events of a range of any length; an event without a debt leaves.
    ///
    /// - Parameter doubtful: no debt ends that a record up to this position has made.
    mutating func end(
        _ source: EventSource,
        _ range: ClosedRange<UInt64>,
        of receiver: NotedReceiver,
        doubtfulUpTo doubtful: UInt64
    ) {
        guard !isEmpty, source == self.source else { return }
        var place = place(from: range.lowerBound)
        while place < slots.count, slots[place].number <= range.upperBound {
            if slots[place].position > doubtful { end(at: place, of: receiver) }
            place += 1
        }
        tidy()
    }

    private mutating func end(at place: Int, of receiver: NotedReceiver) {
        switch slots[place].receivers.count {
        case 0: break
        case 1: if receiver.isOwed(as: slots[place].receivers[0].name) { leave(place) }
        default:
            slots[place].receivers.removeAll { receiver.isOwed(as: $0.name) }
            if slots[place].hasLeft { count -= 1 }
        }
    }

    /// Takes an event out.
    mutating func take(at place: Int) -> CustodyEntry {
        let entry = slots[place].entry
        leave(place)
        tidy()
        return entry
    }

    private mutating func leave(_ place: Int) {
        slots[place].receivers = []
        count -= 1
    }

    /// Finds the oldest event again after events have left, and removes their slots if they are many.
    private mutating func tidy() {
        while first < slots.count, slots[first].hasLeft { first += 1 }
        guard slots.count - count > count + Self.fewSlots else { return }
        if slots.capacity > 8 * Self.fewSlots {
            slots = slots.filter { !$0.hasLeft }
        } else {
            slots.removeAll(where: \.hasLeft)
        }
        first = 0
    }
}
