import DomainEvents
import EventBridge

/// What has become of each event for each worker of one host, by its id.
///
/// An accepted event has one fate: its worker has acknowledged or refused it, it is a dead letter, it was dropped or
/// coalesced, or it is left over with its worker. The ids come from what passes the streams, the counts from the host's
/// own books: ``mistake(in:letters:)`` holds the two against each other.
struct FateRecord {
    /// A gap that a worker has got in the place of events that were dropped.
    struct PassedGap {
        let count: Int
        /// Whether a policy has dropped the events, which were accepted then; otherwise they were not taken.
        let isOfPolicy: Bool
        /// The first and the last event of each origin that were dropped.
        let named: [EventID]
    }

    /// What a worker says of an event or of a gap.
    enum Settlement {
        case acknowledged(EventID)
        case refused(EventID)
        case gap(PassedGap)
    }

    private struct Receiver {
        var acknowledged: Set<EventID> = []
        var refusals: UInt64 = 0
        var dropped = 0
        /// The events that gaps have named as dropped.
        var named: Set<EventID> = []
    }

    private var receivers: [String: Receiver] = [:]
    /// The names of the members of each pool.
    private var pools: [[String]] = []
    /// The workers whose books began anew, as they were removed.
    private var removed: Set<String> = []
    /// How often a worker has said something.
    private(set) var count = 0

    /// Workers of these names share events from now on.
    mutating func addPool(_ members: [String]) { pools.append(members) }

    /// The host has other books for workers of these names, if it has any, from now on.
    mutating func remove(_ workers: Set<String>) { removed.formUnion(workers) }

    // MARK: - What passes

    /// Takes note of what a worker says.
    ///
    /// - Parameter hasCome: whether an event has come to a process of the worker.
    /// - Returns: The rule that is broken, if any.
    mutating func settled(_ settlement: Settlement, by worker: String, hasCome: (EventID) -> Bool) -> String? {
        count += 1
        var receiver = receivers.removeValue(forKey: worker) ?? Receiver()
        defer { receivers[worker] = receiver }
        switch settlement {
        case .acknowledged(let id):
            guard hasCome(id) else { return "\(worker) acknowledges \(id), which has not come to it" }
            guard receiver.acknowledged.insert(id).inserted else { return "\(worker) acknowledges \(id) again" }
            let other = siblings(of: worker).first { receivers[$0]?.acknowledged.contains(id) == true }
            return other.map { "\(worker) acknowledges \(id), which \($0) of the same pool has acknowledged" }
        case .refused(let id):
            guard hasCome(id) else { return "\(worker) refuses \(id), which has not come to it" }
            // It comes again if it was put back as a dead letter.
            receiver.refusals += 1
            return receiver.acknowledged.contains(id) ? "\(worker) refuses \(id), which it has acknowledged" : nil
        case .gap(let gap):
            receiver.named.formUnion(gap.named)
            if gap.isOfPolicy { receiver.dropped += gap.count }
            return nil
        }
    }

    private func siblings(of worker: String) -> [String] {
        pools.last { $0.contains(worker) }?.filter { $0 != worker } ?? []
    }

    // MARK: - At rest

    /// Checks that no event has two fates, and that each event of the host's books has the fate for which it counts.
    ///
    /// - Parameters:
    ///   - books: the counts of a worker of whose words none is on its way.
    ///   - letters: the host's dead letters.
    /// - Returns: The rule that is broken, if any.
    func mistake(in books: EventCounts, of worker: String, letters: [PutAside]) -> String? {
        let receiver = receivers[worker] ?? Receiver()
        let own = letters.filter { $0.worker == worker }
        var seen: Set<EventID> = []
        for letter in own {
            guard seen.insert(letter.id).inserted else { return "\(letter.id) is a dead letter of \(worker) twice" }
            if receiver.acknowledged.contains(letter.id) {
                return "\(letter.id) is a dead letter of \(worker), which has acknowledged it"
            }
        }
        if let id = receiver.named.first(where: receiver.acknowledged.contains) {
            return "\(worker) has acknowledged \(id), of which a gap says that it was dropped"
        }
        // Of a worker that was removed and has come back, the books know only what came since.
        if removed.contains(worker) { return nil }
        let (settled, known) = (books.handled + books.unwanted, UInt64(receiver.acknowledged.count))
        if settled != known {
            return "\(settled) events count as handled by \(worker), or as unwanted, which has acknowledged \(known)"
        }
        if books.refused != receiver.refusals {
            return "\(books.refused) events count as refused by \(worker), which has refused \(receiver.refusals)"
        }
        // While something waits for the worker, a gap may.
        if books.waitingBytes == 0, books.dropped != UInt64(receiver.dropped) {
            return "\(books.dropped) events for \(worker) count as dropped, and gaps say \(receiver.dropped)"
        }
        let died = UInt64(own.count { $0.isOfCrashes })
        if died > books.deadLettered {
            return "\(died) dead letters are there as \(worker) died of them, and \(books.deadLettered) count as such"
        }
        return nil
    }

    /// An event that lies on the shelf of dead letters.
    struct PutAside {
        let id: EventID
        let worker: String
        let isOfCrashes: Bool
    }
}
