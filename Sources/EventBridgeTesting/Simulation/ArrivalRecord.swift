import DomainEvents

/// The events that arrived in the processes of a world, checked against the promises in docs/reference/delivery.md.
struct ArrivalRecord {
    private struct Receiver {
        /// The names of the events that have come.
        var seen: [EventID: String] = [:]
        /// For each origin, how many of the seen events come from it.
        var counts: [String: UInt64] = [:]
        /// For each publishing thread, the last of its events that came to this receiver at the first attempt.
        var newest: [Int: (place: Int, id: EventID)] = [:]
        /// For each cause, the effect that arrived first.
        var effects: [EventID: EventID] = [:]
    }

    private var receivers: [String: Receiver] = [:]
    /// The publishing thread of each event, and the event's place among all published events.
    private var places: [EventID: (thread: Int, place: Int)] = [:]
    private(set) var count = 0

    /// Notes an event that a thread publishes.
    ///
    /// A receiver has to get the events of one thread in order; events of different threads may come in any order.
    mutating func published(_ context: EventContext, on thread: Int) {
        places[context.id] = (thread, places.count)
    }

    /// The number of different events that have come to processes of this name.
    func count(at process: String) -> UInt64 { UInt64(receivers[process]?.seen.count ?? 0) }

    /// The name of an event that has come to a process of this name; nil if it has not come.
    func name(of id: EventID, arrivedAt process: String) -> String? { receivers[process]?.seen[id] }

    /// The number of different events of this origin that have come to processes of this name.
    func count(at process: String, from origin: String) -> UInt64 { receivers[process]?.counts[origin] ?? 0 }

    /// Notes an event that has arrived in a process of this name.
    ///
    /// - Returns: The promise that was broken; nil if none was.
    mutating func arrived(_ name: String, _ context: EventContext, at process: String) -> String? {
        count += 1
        let id = context.id
        var receiver = receivers.removeValue(forKey: process) ?? Receiver()
        defer { receivers[process] = receiver }
        guard receiver.seen.updateValue(name, forKey: id) == nil else {
            return context.attempt > 1
                ? nil : "\(name) \(id) came to \(process) again, as if it came for the first time"
        }
        receiver.counts[id.origin, default: 0] += 1
        if let cause = context.cause, receiver.effects[cause] == nil { receiver.effects[cause] = id }
        if let effect = receiver.effects[id] {
            return "\(name) \(id) came to \(process) behind \(effect), which it has caused"
        }
        guard context.attempt == 1, let (thread, place) = places[id] else { return nil }
        if let newest = receiver.newest[thread], place < newest.place {
            return "\(name) \(id) came to \(process) behind \(newest.id), which the same thread published later"
        }
        receiver.newest[thread] = (place, id)
        return nil
    }
}
