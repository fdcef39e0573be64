/// The parties of a run: the host, its workers, and a client that comes and goes.
package enum Party: UInt8, CaseIterable, Sendable {
    case host
    /// Two workers under full load, which publish for each other and answer the host from their handlers.
    case a
    case b
    /// Publishes from a thread and from tasks of its own, with `publish` and with `send`.
    case source
    /// A pipeline: the first asks, the middle answers each from its handler, and the last is slow.
    case first
    case middle
    case last
    /// A pool of workers by key.
    case pool
    /// A worker on demand.
    case demand
    /// A worker whose overflow policies drop.
    case lossy
    /// A worker that is removed while another of the same program is added, under a new name each time.
    case guest
    /// Waits for the outcomes of its events: by `deliver` and by `request`.
    case asker
    /// A worker that wants everything, and speaks in lines.
    case witness
    /// A process that attaches and detaches.
    case client

    /// The name under which the party offers events; for a pool and a guest, the beginning of their workers' names.
    package var name: String { "\(self)" }

    /// The party of a worker, or of the host.
    ///
    /// - Parameter name: `pool.2` is a member of the pool, `guest.7` the seventh guest, and `client-3` the third
    ///   client.
    package init?(name: String) {
        let first = name.prefix { $0 != "." && $0 != "-" }
        guard let party = Self.allCases.first(where: { $0.name == first }) else { return nil }
        self = party
    }

    /// Tells apart the workers of a party that run at the same time: the number of a pool's member, 0 for all others.
    package static func lane(ofName name: String) -> Int {
        guard Party(name: name) == .pool else { return 0 }
        return name.split(separator: ".").last.flatMap { Int($0) } ?? 0
    }
}
