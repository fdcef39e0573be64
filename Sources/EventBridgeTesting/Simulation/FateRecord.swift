import DomainEvents
import EventBridge

/// What has become of each event for each worker of one host.
///
/// An accepted event has one fate: its worker has acknowledged or refused it, it is a dead letter without a refusal, it
/// was dropped or coalesced, or it is left over in the worker's outbox. The record reads the ids of events from the
/// frames on the streams; ``mistake(in:of:letters:)`` compares them with the host's counts.
struct FateRecord {
    /// A gap that a worker has got in place of dropped events.
    struct PassedGap {
        let count: Int
        /// Whether a policy dropped events that had been accepted; otherwise the events were never accepted.
        let isOfPolicy: Bool
        /// The first and the last dropped event of each origin.
        let named: [EventID]
    }

    /// How a worker has settled an event or a gap.
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

    /// Workers that share events: only one of them gets a shared event.
    private struct Pool {
        let members: [String]
        /// Whether the members share the events of this name.
        let shares: @Sendable (_ name: String) -> Bool
    }

    private var receivers: [String: Receiver] = [:]
    private var pools: [Pool] = []
    /// The removed workers; if a removed worker comes back, the host counts the events for it from zero.
    private var removed: Set<String> = []
    /// How many settlements the workers have sent.
    private(set) var count = 0

    /// Notes that workers of these names share events from now on.
    ///
    /// - Parameter shares: returns whether the workers share the events of a name.
    mutating func addPool(_ members: [String], sharing shares: @escaping @Sendable (_ name: String) -> Bool) {
        pools.append(Pool(members: members, shares: shares))
    }

    /// Notes that the host has removed workers of these names, and their counts with them.
    mutating func remove(_ workers: Set<String>) { removed.formUnion(workers) }

    // MARK: - What passes

    /// Notes how a worker has settled an event or a gap.
    ///
    /// - Parameter nameOfArrived: returns the name of an event that has come to a process of the worker; nil if it has
    ///   not come.
    /// - Returns: The rule that is broken; nil if none is.
    mutating func settled(
        _ settlement: Settlement,
        by worker: String,
        nameOfArrived: (EventID) -> String?
    ) -> String? {
        count += 1
        var receiver = receivers.removeValue(forKey: worker) ?? Receiver()
        defer { receivers[worker] = receiver }
        switch settlement {
        case .acknowledged(let id):
            guard let name = nameOfArrived(id) else {
                return "\(worker) acknowledges \(id), which has not come to it"
            }
            guard receiver.acknowledged.insert(id).inserted else { return "\(worker) acknowledges \(id) again" }
            let other = siblings(of: worker, sharing: name).first { receivers[$0]?.acknowledged.contains(id) == true }
            return other.map { "\(worker) acknowledges \(id), which \($0) of the same pool has acknowledged" }
        case .refused(let id):
            guard nameOfArrived(id) != nil else { return "\(worker) refuses \(id), which has not come to it" }
            // Refusals are counted, not kept in a set, because a refused event comes again if it is redelivered.
            receiver.refusals += 1
            return receiver.acknowledged.contains(id) ? "\(worker) refuses \(id), which it has acknowledged" : nil
        case .gap(let gap):
            receiver.named.formUnion(gap.named)
            if gap.isOfPolicy { receiver.dropped += gap.count }
            return nil
        }
    }

    /// The other members of a worker's pool, if the pool shares the events of this name.
    private func siblings(of worker: String, sharing name: String) -> [String] {
        guard let pool = pools.last(where: { $0.members.contains(worker) }), pool.shares(name) else { return [] }
        return pool.members.filter { $0 != worker }
    }

    // MARK: - At rest

    /// Checks the host's counts against the frames, and that no acknowledged event is a dead letter or was dropped.
    ///
    /// - Parameters:
    ///   - books: the host's counts for the worker, read while no acknowledgement or refusal was on its way.
    ///   - letters: the host's dead letters.
    /// - Returns: The rule that is broken; nil if none is.
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
        // For a worker that was removed and has come back, the host counts only the events after its return.
        if removed.contains(worker) { return nil }
        let (settled, known) = (books.handled + books.unwanted, UInt64(receiver.acknowledged.count))
        if settled != known {
            return "\(settled) events count as handled or unwanted at \(worker), which has acknowledged \(known)"
        }
        if books.refused != receiver.refusals {
            return "\(books.refused) events count as refused by \(worker), which has refused \(receiver.refusals)"
        }
        // While events wait for the worker, a gap may wait as well.
        if books.waitingBytes == 0, books.dropped != UInt64(receiver.dropped) {
            return "\(books.dropped) events for \(worker) count as dropped, and gaps say \(receiver.dropped)"
        }
        let died = UInt64(own.count { $0.isOfCrashes })
        if died > books.deadLettered {
            return "\(worker) died of \(died) dead letters, and \(books.deadLettered) events count as dead letters"
        }
        return nil
    }

    /// An event that is a dead letter of the host.
    struct PutAside {
        let id: EventID
        let worker: String
        let isOfCrashes: Bool
    }
}
