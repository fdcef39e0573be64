/// The status of a host and its workers, at one moment.
///
/// The host reads the counts one after the other. Sums may be off by the events that pass between two readings.
public struct BridgeReport: Sendable, Hashable, Codable {
    /// The host's process.
    public var pid: Int32
    /// The version of the host's library, for people to read.
    public var library: String
    /// The highest version of the wire protocol that the host speaks.
    public var protocolVersion: UInt64
    /// The time since the host's start, in milliseconds, by a clock that stands still while the machine sleeps.
    public var uptimeMilliseconds: UInt64
    /// Whether the host is stopping and takes nothing new.
    public var isStopping: Bool
    /// How much memory of the host's process lies in RAM, in bytes; nil where that is not known.
    public var residentBytes: UInt64?
    /// The workers, in the order of their specifications.
    public var workers: [WorkerReport]
    /// The attached clients, in the order in which they attached.
    public var clients: [ClientReport]
    /// The journal that records the host's events; nil if there is none.
    public var journal: JournalReport?

    /// Makes a report.
    public init(
        pid: Int32,
        library: String,
        protocolVersion: UInt64,
        uptimeMilliseconds: UInt64,
        isStopping: Bool = false,
        residentBytes: UInt64? = nil,
        workers: [WorkerReport] = [],
        clients: [ClientReport] = [],
        journal: JournalReport? = nil
    ) {
        self.pid = pid
        self.library = library
        self.protocolVersion = protocolVersion
        self.uptimeMilliseconds = uptimeMilliseconds
        self.isStopping = isStopping
        self.residentBytes = residentBytes
        self.workers = workers
        self.clients = clients
        self.journal = journal
    }
}

extension BridgeReport {
    /// The names that a command about a worker accepts: those of the workers, and of the pools that they belong to.
    public var workerNames: [String] {
        var names: [String] = []
        var pools: Set<String> = []
        for worker in workers {
            if let pool = worker.pool, pools.insert(pool).inserted { names.append(pool) }
            names.append(worker.name)
        }
        return names
    }
}

/// The status of a client attached to a host.
public struct ClientReport: Sendable, Hashable, Codable {
    /// The name that the host gave the client.
    public var client: String
    /// What the client calls itself.
    public var title: String
    /// The process that connected as the client.
    public var pid: Int32
    /// The number of the client's user; nil if the host does not say.
    public var user: UInt32?
    /// How many events wait for the client or are on their way to it.
    public var outboxEvents: Int
    /// How many events the client's overflow policy has dropped.
    public var dropped: UInt64

    /// Makes a report.
    public init(
        client: String,
        title: String,
        pid: Int32,
        user: UInt32? = nil,
        outboxEvents: Int = 0,
        dropped: UInt64 = 0
    ) {
        self.client = client
        self.title = title
        self.pid = pid
        self.user = user
        self.outboxEvents = outboxEvents
        self.dropped = dropped
    }
}
