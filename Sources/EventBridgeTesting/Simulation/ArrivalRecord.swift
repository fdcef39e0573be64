import DomainEvents

/// What has arrived in the processes of a world, held against what is promised about it (docs/reference/delivery.md).
struct ArrivalRecord {
    private struct Receiver {
        var seen: Set<EventID> = []
        /// How many of these each origin has made.
        var counts: [String: UInt64] = [:]
        /// The newest event of each thread that came for the first time, as the thread counts them.
        var newest: [Int: (place: Int, id: EventID)] = [:]
        /// Events that have arrived, by what caused them: the first of each.
        var effects: [EventID: EventID] = [:]
    }

    private var receivers: [String: Receiver] = [:]
    /// On which thread an event was published, and as which of all.
    private var places: [EventID: (thread: Int, place: Int)] = [:]
    private(set) var count = 0

    /// Takes note of an event that a thread publishes.
    ///
    /// What one thread publishes keeps its order; what several do at once has none.
    mutating func published(_ context: EventContext, on thread: Int) {
        places[context.id] = (thread, places.count)
    }

    /// How many different events have come to processes of this name.
    func count(at process: String) -> UInt64 { UInt64(receivers[process]?.seen.count ?? 0) }

    /// How many of those were made by this origin.
    func count(at process: String, from origin: String) -> UInt64 { receivers[process]?.counts[origin] ?? 0 }

    /// Takes note of an event that has arrived in a process of this name.
    ///
    /// - Returns: What does not hold, if anything.
    mutating func arrived(_ name: String, _ context: EventContext, at process: String) -> String? {
        count += 1
        let id = context.id
        var receiver = receivers.removeValue(forKey: process) ?? Receiver()
        defer { receivers[process] = receiver }
        guard receiver.seen.insert(id).inserted else {
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
