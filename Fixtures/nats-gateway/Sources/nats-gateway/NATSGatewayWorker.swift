import BridgeWorker
import Dispatch
import DomainEvents
import NATSGateway

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Carries events between this host and those of other machines, over NATS JetStream:
/// `nats-gateway --node berlin --export BoxOrdered --import paris=BoxProvisioned`.
@main
struct NATSGatewayWorker {
    static func main() async {
        let configuration: GatewayConfiguration
        do throws(GatewayConfiguration.Mistake) {
            configuration = try GatewayConfiguration(
                arguments: Array(CommandLine.arguments.dropFirst()),
                environment: ProcessInfo.processInfo.environment
            )
        } catch {
            GatewayExit.leave("nats-gateway: \(error.description)", with: .usage)
        }
        // The worker's name is gone from the environment once the session has begun.
        let owner = owner
        await BridgeWorker.main { publisher in
            guard publisher.mayImport || configuration.imports.isEmpty else {
                let mistake = "--import needs `mayImport: true` in the worker's specification"
                GatewayExit.leave("nats-gateway: \(mistake)", with: .configuration)
            }
            let hold = publisher.holdReadiness(because: "it asks whether another gateway serves its node")
            let gateway = try Gateway(
                configuration,
                owner: owner,
                places: places(configuration, publisher),
                publish: { await give($0, at: configuration.node, to: publisher) },
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
            // One queue for all names, so that their order is kept.
            let queue = DispatchQueue(label: "nats-gateway.events")
            return try configuration.exports.map { name in
                try publisher.subscribe(toEventsNamed: name, on: .queue(queue), acknowledging: .manually) { delivery in
                    // Each node exports its own events: who wants another node's reads that node's stream.
                    if delivery.context.id.isForeign {
                        delivery.acknowledge()
                    } else {
                        gateway.export(exported(delivery, from: configuration.node))
                    }
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

    /// How long the gateway waits to learn whether it may serve, in seconds: longer than another one is waited for, and
    /// shorter than a worker's start may take.
    private static let longestHold = 7.0

    /// The supervisor's process, and the worker in it: what it starts beside this gateway is to replace it.
    private static var owner: String {
        let process = ProcessInfo.processInfo
        return "\(process.hostName) \(getppid()) \(process.environment["EVENT_BRIDGE_NAME"] ?? "")"
    }

    private static func exported(_ delivery: UnsettledDelivery<UntypedEvent>, from node: Node) -> ExportedEvent {
        let context = delivery.context
        return ExportedEvent(
            headers: EventHeaders(
                id: context.id.description,
                source: context.id.origin,
                name: delivery.event.name,
                time: EventTime.text(of: context.nanosecondsSinceEpoch),
                cause: context.cause?.description,
                root: context.root == context.id || context.root == context.cause ? nil : context.root.description,
                traceparent: context.traceparent?.description,
                path: [node]
            ),
            payload: delivery.event.payload,
            isRepeat: context.attempt > 1
        ) { refusal in
            if let refusal { delivery.refuse(NeverStored(description: refusal)) } else { delivery.acknowledge() }
        }
    }

    /// Gives an event to the host, whose outbox keeps it from then on, whatever becomes of this process.
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
        } catch let error as DeliveryError {
            switch error.code {
            case .notEncodable, .eventTooLarge, .nameHasType: return .refused("\(error)")
            case .outboxFull, .workerUnavailable, .shuttingDown, .noSubscriber, .refused, .deadLettered, .timedOut,
                .insideTransaction, .mayNotImport:
                return .ended
            }
        } catch let error as NATSGateway.ImportedEvent.Unusable {
            return .refused(error.description)
        } catch {
            return .ended
        }
    }
}

/// Why an event does not leave this node.
private struct NeverStored: Error, CustomStringConvertible {
    let description: String
}
