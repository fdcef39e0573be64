import BridgePlatform
import BridgeWorker
import DomainEvents
import FoundationEssentials

/// The worker's half of each work; the same program, started by a bridge.
enum BenchmarkWorker {
    static func run(_ work: String) async {
        await BridgeWorker.main { publisher in
            switch work {
            case "W1": return roundTrips(publisher)
            case "W2": return floods(publisher)
            case "W3": return blobs(publisher)
            case "stopped": return stops(publisher)
            default:
                publisher.publish(BenchmarkEvent(id: 1, title: Title.of(1)))
                return []
            }
        }
    }

    private static func roundTrips(_ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: BenchmarkEvent.self) { event in
                publisher.publish(BenchmarkReply(id: event.id, title: event.title))
            }
        ]
    }

    private static func floods(_ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: BenchmarkStarted.self) { start in
                // Off the handler: inside one nothing waits for room.
                Task.detached {
                    for id in 0..<start.count { try await publisher.send(BenchmarkEvent(id: id, title: Title.of(id))) }
                }
            }
        ]
    }

    private static func blobs(_ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: BenchmarkStarted.self) { start in
                Task.detached {
                    var blob = Data(count: start.blobBytes)
                    for id in 0..<start.count {
                        Stamp.set(id, in: &blob)
                        try await publisher.send(BenchmarkBlob(id: id, title: Title.of(id), blob: blob))
                    }
                }
            }
        ]
    }

    private static func stops(_ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: BenchmarkStopped.self) { _ in CurrentProcess.stop() },
            publisher.subscribe(to: BenchmarkLoad.self) { _ in },
        ]
    }
}
