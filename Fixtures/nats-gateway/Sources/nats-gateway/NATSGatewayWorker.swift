import BridgeWorker
import Dispatch
import DomainEvents
import NATSGateway

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Carries events between this host and those of other machines, over NATS JetStream:
/// `nats-gateway --node berlin --export BoxOrdered --import paris=BoxProvisioned`.
@main
struct NATSGatewayWorker {
    static func main() async {
        ProcessMemory.returnWhatIsFree()
        let configuration: GatewayConfiguration
        do throws(GatewayConfiguration.Mistake) {
            configuration = try GatewayConfiguration(
                arguments: Array(CommandLine.arguments.dropFirst()),
                environment: environment
            )
        } catch {
            GatewayExit.leave("nats-gateway: \(error.description)", with: .usage)
        }
        // The worker's name is gone from the environment once the session has begun.
        let owner = GatewayOwner.name { getenv($0).map { String(cString: $0) } }
        await BridgeWorker.main { publisher in
            guard publisher.mayImport || configuration.imports.isEmpty else {
                let mistake = "--import needs `mayImport: true` in the worker's specification"
                GatewayExit.leave("nats-gateway: \(mistake)", with: .configuration)
            }
            let hold = publisher.holdReadiness(because: "it asks whether another gateway serves its node")
            let chains = CauseChains()
            let gateway = try Gateway(
                configuration,
                owner: owner,
                places: places(configuration, publisher),
                // Without exports no chain of causes is counted.
                publish: { [chains = configuration.exports.isEmpty ? nil : chains] event in
                    chains?.bring(event.headers)
                    return await give(event, at: configuration.node, to: publisher)
                },
                report: { report in
                    switch report {
                    case .note(let sentence): print("nats-gateway: \(sentence)")
                    case .end(let reason): GatewayExit.leave("nats-gateway: \(reason)", with: .configuration)
                    case .again(let reason): GatewayExit.leave("nats-gateway: \(reason)", with: .again)
                    }
                },
                settled: { hold.release() }
            )
            // A broker that is away is no reason to hold up the host.
            DispatchQueue.global().asyncAfter(deadline: .now() + longestHold) { hold.release() }
            // A lone event is exported on the thread that reads it from the host. While the thread waits for the
            // broker, another thread reads on.
            return try configuration.exports.map { name in
                try publisher.subscribe(toEventsNamed: name, acknowledging: .manually) { delivery in
                    // A node exports its own events only. A node that wants another's events reads that node's stream.
                    if delivery.context.id.isForeign {
                        delivery.acknowledge()
                        return
                    }
                    let context = delivery.context
                    let crossings = chains.crossings(of: context.id, first: context.root)
                    guard crossings <= configuration.longestChain else {
                        throw NeverStored(description: circle(configuration.longestChain))
                    }
                    gateway.export(ExportedEvent(delivery, from: configuration.node, crossings: crossings))
                }
            }
        }
    }

    /// The places that the host keeps; nil if it keeps none, or has no room for so many.
    private static func places(_ configuration: GatewayConfiguration, _ publisher: EventPublisher) -> ImportPlaces? {
        let nodes = Array(configuration.imports.keys)
        guard !nodes.isEmpty, publisher.keepsBookmarks else { return nil }
        guard nodes.count <= ImportPlaces.most else {
            print(
                "nats-gateway: a bookmark has room for \(ImportPlaces.most) places, but \(nodes.count) streams are read"
            )
            return nil
        }
        return ImportPlaces(of: nodes, bookmark: publisher.lastBookmark?.bytes)
    }

    /// After how many seconds the gateway is ready without knowing whether it may serve: longer than it waits for
    /// another gateway, and shorter than a worker's start may take.
    private static let longestHold = 7.0

    /// The environment variables that the configuration may come from.
    private static var environment: [String: String] {
        var values: [String: String] = [:]
        for name in GatewayConfiguration.variables { values[name] = getenv(name).map { String(cString: $0) } }
        return values
    }

    private static func circle(_ longest: Int) -> String {
        """
        it would be the crossing \(longest + 1) from node to node behind its first cause: handlers seem to answer each \
        other in a circle; if not, raise --longest-chain, which is \(longest)
        """
    }

    /// Gives an event to the host; if this returns `.taken`, the host has the event, whatever becomes of this process.
    private static func give(
        _ event: NATSGateway.ImportedEvent,
        at node: Node,
        to publisher: EventPublisher
    ) async -> Custody {
        do {
            try await publisher.send(
                importing: event.forHost(at: node),
                bookmark: event.bookmark.map { EventBookmark($0) }
            )
            return .taken
        } catch {
            return Custody(after: error)
        }
    }
}
