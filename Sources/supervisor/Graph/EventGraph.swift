import DomainEvents
import SupervisorConfiguration

/// The publishers, the subscribers and their events, as a configuration declares them.
struct EventGraph: Sendable, Hashable {
    /// A worker, or the supervisor, which also stands for a program that embeds the bridge.
    struct Node: Sendable, Hashable {
        let name: String
        /// Further remarks about the node, a few words each.
        let remarks: [String]
    }

    /// The events that go from one node to another.
    struct Edge: Sendable, Hashable {
        /// Indices in ``EventGraph/nodes``.
        let from: Int
        let to: Int
        /// The events, sorted by name.
        let events: [String]
    }

    /// The supervisor first, then the workers in the order of the configuration.
    let nodes: [Node]
    /// The edges in the order of their nodes.
    let edges: [Edge]

    private static let supervisor = 0

    init(_ configuration: SupervisorConfiguration) {
        let workers = configuration.workers
        nodes = [Node(name: "supervisor", remarks: [])] + workers.map(Node.init)
        // The publishers are collected once, because a configuration may have many thousands of names.
        var publishers: [EventName: [Int]] = [:]
        for (index, worker) in workers.enumerated() {
            for event in EventName.set(worker.publishes ?? []) { publishers[event, default: []].append(index) }
        }
        let subscribed = EventName.set(workers.flatMap(\.subscribes))
        var events: [Pair: Set<EventName>] = [:]
        for (index, worker) in workers.enumerated() {
            let node = index + 1
            for event in EventName.set(worker.subscribes) {
                let sources = publishers[event]?.map { $0 + 1 } ?? [Self.supervisor]
                for source in sources { events[Pair(from: source, to: node), default: []].insert(event) }
            }
            if worker.subscribes.contains("*") {
                for (source, other) in workers.enumerated() where source != index {
                    for event in EventName.set(other.publishes ?? []) {
                        events[Pair(from: source + 1, to: node), default: []].insert(event)
                    }
                }
            }
            for event in EventName.set(worker.publishes ?? []).subtracting(subscribed) {
                events[Pair(from: node, to: Self.supervisor), default: []].insert(event)
            }
        }
        edges = events.map { Edge(from: $0.key.from, to: $0.key.to, events: $0.value.map(\.text).sorted()) }
            .sorted { ($0.from, $0.to) < ($1.from, $1.to) }
    }

    private struct Pair: Hashable {
        let from: Int
        let to: Int
    }
}

extension EventGraph.Node {
    fileprivate init(_ worker: SupervisorConfiguration.Worker) {
        var remarks: [String] = []
        if let pool = worker.pool { remarks.append("\(pool.members) members") }
        if worker.idleTime != nil { remarks.append("on demand") }
        if worker.isSignificant { remarks.append("significant") }
        if worker.publishes == nil { remarks.append("may publish anything") }
        if worker.mayImport { remarks.append("imports events of other machines") }
        self.init(name: worker.name, remarks: remarks)
    }
}
