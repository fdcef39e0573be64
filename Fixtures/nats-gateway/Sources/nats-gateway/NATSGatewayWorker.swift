import BridgeWorker
import Dispatch
import DomainEvents
import NATSGateway

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
        let worker = ProcessInfo.processInfo.environment["EVENT_BRIDGE_NAME"] ?? ""
        await BridgeWorker.main { publisher in
            let gateway = try Gateway(
                configuration,
                places: places(configuration, publisher),
                publish: { await give($0, to: publisher) },
                report: { report in
                    switch report {
                    case .note(let sentence): print("nats-gateway: \(sentence)")
                    case .end(let reason): GatewayExit.leave("nats-gateway: \(reason)", with: .fenced)
                    }
                }
            )
            // One queue for all names, so that their order is kept.
            let queue = DispatchQueue(label: "nats-gateway.events")
            return try configuration.exports.map { name in
                try publisher.subscribe(toEventsNamed: name, on: .queue(queue), acknowledging: .manually) { delivery in
                    // What this gateway has published itself is another node's.
                    if delivery.context.id.origin == worker {
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

    private static func exported(_ delivery: UnsettledDelivery<UntypedEvent>, from node: Node) -> ExportedEvent {
        let context = delivery.context
        return ExportedEvent(
            headers: EventHeaders(
                id: context.id.description,
                source: context.id.origin,
                name: delivery.event.name,
                time: Date(timeIntervalSince1970: Double(context.nanosecondsSinceEpoch) / 1e9)
                    .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
                cause: context.cause?.description,
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
    private static func give(_ event: ImportedEvent, to publisher: EventPublisher) async -> Custody {
        do {
            let untyped = try UntypedEvent(name: event.headers.name, payload: event.payload)
            if let bookmark = event.bookmark {
                try await publisher.send(untyped, bookmark: EventBookmark(bookmark))
            } else {
                try await publisher.send(untyped)
            }
            return .taken
        } catch let error as DeliveryError {
            switch error.code {
            case .notEncodable, .eventTooLarge, .nameHasType: return .refused("\(error)")
            case .outboxFull, .workerUnavailable, .shuttingDown, .noSubscriber, .refused, .deadLettered, .timedOut,
                .insideTransaction, .mayNotImport:
                return .ended
            }
        } catch {
            return .ended
        }
    }
}

/// Why an event does not leave this node.
private struct NeverStored: Error, CustomStringConvertible {
    let description: String
}
