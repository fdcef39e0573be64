import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks
import Synchronization

/// Peers of one specification that share its events: each event goes to one member, always the same for the same key.
///
/// Only events of names whose key is `everyMember` go to all members.
package final class PeerPool: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, or atomic.

    package let name: String
    /// How many members the pool has, down or not; a key's member depends on this number and the key.
    package let count: Int
    /// The keys by event name; `*` stands for all other names.
    private let keys: [EventName: EventKey]
    /// Counts the searches for the least busy member; the count decides with which member a search begins.
    private let turns = Atomic<Int>(0)

    private let lock = Lock()
    /// The names of events without a key that were reported.
    private var reported: Set<EventName> = []

    package init(name: String, count: Int, keys: [String: EventKey]) {
        self.name = name
        self.count = count
        self.keys = Dictionary(uniqueKeysWithValues: keys.map { (EventName($0.key), $0.value) })
    }

    func key(of name: String) -> EventKey { keys[EventName(name)] ?? keys[EventName.everything] ?? .anyMember }

    /// Notes that an event of this name has no key, and returns whether it is the name's first such event.
    func isNews(keyMissingOf name: String) -> Bool { lock.withLock { reported.insert(EventName(name)).inserted } }

    /// How busy a member is.
    struct Load: Comparable {
        /// Whether the member's outbox is full, or the events that the member publishes pile up.
        ///
        /// The number of events need not show this: a few large events may fill the outbox.
        let isFull: Bool
        let events: Int

        /// Whether no member can be less busy.
        var isLeast: Bool { !isFull && events == 0 }

        static func < (one: Load, other: Load) -> Bool {
            one.isFull == other.isFull ? one.events < other.events : other.isFull
        }
    }

    /// The member with the fewest waiting events, among those that take events; members with room come before full
    /// ones.
    ///
    /// The next search begins with another member.
    func leastBusy(of members: [Peer]) -> Peer {
        let turn = turns.wrappingAdd(1, ordering: .relaxed).oldValue
        let start = Int(UInt(bitPattern: turn) % UInt(members.count))
        var best = members[start]
        var least = best.load
        for step in 1..<members.count where least?.isLeast != true {
            let member = members[(start + step) % members.count]
            guard let load = member.load, least.map({ load < $0 }) ?? true else { continue }
            (best, least) = (member, load)
        }
        return best
    }
}

/// The peers that want the events of one name, if some of them share the events.
///
/// An immutable value; see ``Fanout``.
final class PooledTargets: Sendable {
    /// The members of one pool.
    struct Group: Sendable {
        let pool: PeerPool
        let key: EventKey
        /// The members that share the events, in the order of their numbers.
        let members: [Peer]
        /// Each member of the pool in an array of its own, which is empty if the member does not share the events.
        ///
        /// So an event with a key needs no new array if only this pool gets it.
        let alone: [[Peer]]
        /// The name of the member that gets events without a key.
        let first: String

        /// The member of a key; events without a key keep their order, as if they all had the same key.
        func member(at place: KeyPlace?) -> [Peer] { alone[place?.index(among: alone.count) ?? 0] }
    }

    private let eventName: String
    /// The peers that get every event.
    private let plain: [Peer]
    private let groups: [Group]
    /// Publishes reports about the events.
    private let reports: ReportStrand

    /// Makes the targets; nil if none of them share the events.
    ///
    /// If only some members of a pool share the events, because a reload has failed or is under way, the events with
    /// the other members' keys go to no member.
    ///
    /// - Parameters:
    ///   - targets: the peers that want the events.
    ///   - peers: all peers, `targets` among them, a pool's members in the order of their numbers.
    init?(_ targets: [Peer], among peers: [Peer], name: String, isSelfReport: Bool, reports: ReportStrand) {
        var plain: [Peer] = []
        var sharing: [Peer] = []
        var pools: [PeerPool] = []
        for target in targets {
            guard let pool = target.pool(sharing: name, isSelfReport: isSelfReport) else {
                plain.append(target)
                continue
            }
            sharing.append(target)
            if !pools.contains(where: { $0 === pool }) { pools.append(pool) }
        }
        var groups: [Group] = []
        for pool in pools {
            let all = peers.filter { $0.pool === pool }
            // A key's member can be found only once all members are there.
            guard all.count == pool.count else { continue }
            let members = sharing.filter { $0.pool === pool }
            let alone = all.map { member in members.contains { $0 === member } ? [member] : [] }
            let first = all[0].peerName
            groups.append(Group(pool: pool, key: pool.key(of: name), members: members, alone: alone, first: first))
        }
        guard plain.count < targets.count else { return nil }
        self.eventName = name
        self.plain = plain
        self.groups = groups
        self.reports = reports
    }

    /// Whether another peer wants the events and does not share them with this peer.
    func isWanted(otherThan peer: Peer) -> Bool {
        plain.contains { $0 !== peer } || groups.contains { !handles(peer, for: $0) }
    }

    /// Whether a peer's own handlers get what the peer publishes, in place of the other members of its pool.
    private func handles(_ peer: Peer, for group: Group) -> Bool {
        group.pool === peer.pool && (group.members.contains { $0 === peer } || plain.contains { $0 === peer })
    }

    /// Whether a target may get an event that another peer has published.
    func mayGet(_ target: Peer, from peer: Peer) -> Bool {
        plain.contains { $0 === target }
            || groups.contains { group in group.members.contains { $0 === target } && !handles(peer, for: group) }
    }

    /// The peers that get an event of this process.
    func targets<E: DomainEvent>(of event: E, _ payload: UnsafeRawBufferPointer) -> [Peer] {
        targets(except: nil) { self.place($0, of: event, payload) }
    }

    /// The peers that get an event, found from its bytes.
    ///
    /// - Parameters:
    ///   - origin: the peer that published the event; nil if it was published here. If the peer wants the event, its
    ///     own handlers have had it, and no other member of its pool gets it.
    func targets(of payload: UnsafeRawBufferPointer, except origin: Peer? = nil) -> [Peer] {
        targets(except: origin) { self.place($0, payload) }
    }

    private func targets(except origin: Peer?, _ place: (EventKey) -> KeyPlace?) -> [Peer] {
        if plain.isEmpty, groups.count == 1, origin?.pool == nil { return member(of: groups[0], place) }
        var targets = plain
        for group in groups {
            if let origin, handles(origin, for: group) { continue }
            targets += member(of: group, place)
        }
        return targets
    }

    private func member(of group: Group, _ place: (EventKey) -> KeyPlace?) -> [Peer] {
        switch group.key {
        case .anyMember: return [group.pool.leastBusy(of: group.members)]
        case .everyMember: return group.members
        case .field, .found:
            let place = place(group.key)
            if place == nil, group.pool.isNews(keyMissingOf: eventName) { report(group) }
            return group.member(at: place)
        }
    }

    /// The peers for whose room a publisher of an event of this process waits: room at one peer of each array is
    /// enough.
    ///
    /// If the pool's key is `anyMember`, any member may get the event. A publisher that chose one member, and waited
    /// for that one alone, would wait as long as its handlers take, though other members have room by then.
    func waited<E: DomainEvent>(for event: E, _ payload: UnsafeRawBufferPointer) -> [[Peer]] {
        waited { self.place($0, of: event, payload) }
    }

    /// The same peers, found from the event's bytes.
    func waited(for payload: UnsafeRawBufferPointer) -> [[Peer]] { waited { self.place($0, payload) } }

    private func waited(_ place: (EventKey) -> KeyPlace?) -> [[Peer]] {
        plain.map { [$0] }
            + groups.flatMap { group in
                switch group.key {
                case .anyMember: [group.members]
                case .everyMember: group.members.map { [$0] }
                case .field, .found: [group.member(at: place(group.key))]
                }
            }
    }

    private func place<E: DomainEvent>(_ key: EventKey, of event: E, _ payload: UnsafeRawBufferPointer) -> KeyPlace? {
        guard case .found(let finder) = key, finder.eventType == E.self else { return place(key, payload) }
        // Outside of tests, `TypedKeyFinder` is the only kind of finder, and its event type was checked.
        return unsafeDowncast(finder, to: TypedKeyFinder<E>.self).place(ofEvent: event)
    }

    private func place(_ key: EventKey, _ payload: UnsafeRawBufferPointer) -> KeyPlace? {
        switch key {
        case .found(let finder): return finder.place(of: payload)
        case .field(let name):
            guard let range = PayloadField.range(of: name, in: payload) else { return nil }
            return KeyPlace(UnsafeRawBufferPointer(rebasing: payload[range]))
        case .anyMember, .everyMember: return nil
        }
    }

    /// Reports the name whose key is missing, but not the event: the event is not in an outbox yet, and may never be.
    private func report(_ group: Group) {
        reports.publish(
            EventKeyMissing(event: eventName, worker: group.pool.name, member: group.first)
        )
    }
}

extension Peer {
    /// The pool in which the peer shares the events of this name; nil if the peer gets all of them.
    ///
    /// If a member asks for events beyond its specification, such as answers to its requests, it alone gets them.
    func pool(sharing name: String, isSelfReport: Bool) -> PeerPool? {
        guard let pool, isSpecified(name, isSelfReport: isSelfReport) else { return nil }
        if case .everyMember = pool.key(of: name) { return nil }
        return pool
    }

    /// How busy the peer is; nil if the peer takes no events.
    fileprivate var load: PeerPool.Load? {
        let (link, isClosed) = lock.withLock { (current, closure != nil) }
        if isClosed { return nil }
        let (isFull, events) = link.load
        return PeerPool.Load(isFull: isFull, events: events)
    }
}
