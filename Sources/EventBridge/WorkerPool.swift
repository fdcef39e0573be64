public import DomainEvents
import EventRouting
import Supervision

/// How many workers run by one specification, and which of them gets an event.
///
/// ```swift
/// WorkerSpecification(
///     "render", executable: .beside("render-worker"),
///     subscribes: [RenderRequested.self, TileChanged.self, ThemeChanged.self],
///     pool: WorkerPool(4)
///         .keyed(RenderRequested.self, by: \.documentID)
///         .keyed(TileChanged.self, byField: "documentID")
///         .toEveryMember(ThemeChanged.self)
/// )
/// ```
///
/// The members are workers of their own, named `render.1` to `render.4`: each is started, watched and restarted by
/// itself, and has its own entry in ``BridgeHost/statistics`` and ``BridgeHost/status``. Each event that the
/// specification subscribes to goes to exactly one member, unless it is for every member. If a member itself publishes
/// an event that is for one member, no other member gets it. Events with equal keys go to the same member, in order,
/// even if they have different types, and even if the member restarts in between. The key and the number of members
/// alone decide which member that is, so it is the same in every run.
public struct WorkerPool: Sendable, Hashable {
    /// How many workers run.
    public var members: Int

    /// How the pool finds the key of an event, by event name; `*` stands for the names that are not listed.
    ///
    /// Without an entry, and without `*`, a name has ``PoolKey/anyMember``.
    public var keys: [String: PoolKey]

    /// Describes a pool.
    public init(_ members: Int, keys: [String: PoolKey] = [:]) {
        self.members = members
        self.keys = keys
    }

    /// A pool in which a function of the event gives the key.
    ///
    /// If another worker publishes the event, the host decodes it for the function, on the thread that reads that
    /// worker's link.
    public func keyed<E: DomainEvent, Key: Encodable & SendableMetatype>(
        _ type: E.Type,
        by key: @escaping @Sendable (E) -> Key
    ) -> WorkerPool {
        with(PoolKey(kind: .found(PoolKey.Function(TypedKeyFinder(key)))), for: E.eventName)
    }

    /// A pool in which a field of the event has the key.
    ///
    /// The field's name is the one in the encoded event. The host finds the field without decoding the event.
    public func keyed(_ type: any DomainEvent.Type, byField field: String) -> WorkerPool {
        with(.field(field), for: type.eventName)
    }

    /// A pool in which every member gets these events.
    public func toEveryMember(_ types: any DomainEvent.Type...) -> WorkerPool {
        types.reduce(self) { $0.with(.everyMember, for: $1.eventName) }
    }

    private func with(_ key: PoolKey, for name: String) -> WorkerPool {
        var result = self
        result.keys[name] = key
        return result
    }
}

/// How a pool finds the member for an event.
public struct PoolKey: Sendable, Hashable {
    /// A finder, compared by identity.
    final class Function: Sendable, Hashable {
        let finder: any EventKeyFinder

        init(_ finder: any EventKeyFinder) {
            self.finder = finder
        }

        static func == (left: Function, right: Function) -> Bool { left === right }

        func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
    }

    enum Kind: Sendable, Hashable {
        case field(String)
        case found(Function)
        case anyMember
        case everyMember
    }

    let kind: Kind

    /// Finds the member by the value of the event's field of this name.
    ///
    /// The host looks for the field at the top level of the encoded event. Integers are equal by value, CBOR texts and
    /// byte strings of definite length by their bytes, and all other values by their encoding. All events without the
    /// field, or with null in it, go to one and the same member; `EventKeyMissing` says so once for each event name.
    public static func field(_ name: String) -> PoolKey { PoolKey(kind: .field(name)) }

    /// Chooses the member with the fewest waiting events, among the members that are not given up or stopped.
    ///
    /// Members without room, or whose own events pile up, come last. The order of events sent this way is not defined.
    public static let anyMember = PoolKey(kind: .anyMember)

    /// Chooses every member.
    public static let everyMember = PoolKey(kind: .everyMember)
}

extension PoolKey {
    var key: EventKey {
        switch kind {
        case .field(let name): .field(name)
        case .found(let function): .found(function.finder)
        case .anyMember: .anyMember
        case .everyMember: .everyMember
        }
    }
}

extension WorkerPool {
    /// How many members a pool can have: each is a process, and no machine has a use for more.
    private static let memberRange = 1...256

    /// Finds every mistake, each as a phrase; empty if there is none.
    ///
    /// - Parameter subscribes: what the specification subscribes to.
    func validate(name: String, subscribes: [String]) -> [String] {
        guard Self.memberRange.contains(members) else {
            return [
                "a pool has \(Self.memberRange.lowerBound) to \(Self.memberRange.upperBound) members; found \(members)"
            ]
        }
        var mistakes: [String] = []
        if let longest = memberNames(of: name).last, longest.utf8.count > 64 {
            mistakes.append("its last member's name would be \"\(longest)\", longer than 64 characters")
        }
        for (event, key) in keys.sorted(by: { $0.key < $1.key }) {
            if key.kind == .field("") { mistakes.append("the key of \(event) is a field with an empty name") }
            guard event != EventName.everything.text, !subscribes.contains(event),
                !subscribes.contains(EventName.everything.text)
            else { continue }
            mistakes.append("its pool has a key for \(event), but the worker does not subscribe to \(event)")
        }
        return mistakes
    }
}

extension WorkerSpecification {
    /// The specification of each worker: this specification itself, or a specification for each member of its pool.
    var members: [WorkerSpecification] {
        guard let pool else { return [self] }
        return pool.memberNames(of: name).map { memberName in
            var member = self
            member.child.name = memberName
            member.pool = nil
            return member
        }
    }

    /// What the members of the pool share; nil if the specification has no pool.
    var peerPool: PeerPool? {
        pool.map { PeerPool(name: name, count: $0.members, keys: $0.keys.mapValues(\.key)) }
    }
}

extension WorkerPool {
    /// The names of the pool's members, in order, at least one; `name` is the specification's name.
    package func memberNames(of name: String) -> [String] { (1...max(1, members)).map { "\(name).\($0)" } }
}
