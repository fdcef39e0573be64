import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting

/// What crosses the link: a number and 16 characters, one more than Swift keeps inline.
struct PathTravelled: DomainEvent {
    let id: Int64
    let title: String
}

/// Asks the worker for so many events.
struct TravelBegun: DomainEvent {
    let count: Int64
}

/// Runs events through a bridge within one process, for tools that count what the way costs: `event-path COUNT`.
///
/// No asynchronous `main`: those tools do not survive how it gives the main thread up.
@main
enum EventPath {
    static func main() {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int64($0) } ?? 100_000
        let isDone = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await travel(count)
            } catch {
                fatalError("\(error)")
            }
            isDone.signal()
        }
        isDone.wait()
    }

    private static func travel(_ count: Int64) async throws {
        let publisher = EventPublisher()
        let arrived = DispatchSemaphore(value: 0)
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("traveller", subscribes: [TravelBegun.self]) { publisher in
                    [
                        publisher.subscribe(to: TravelBegun.self) { begun in
                            Task.detached {
                                let titles = (0..<16).map { "event-title-00" + ($0 < 10 ? "0" : "") + "\($0)" }
                                for id in 0..<begun.count {
                                    try await publisher.send(PathTravelled(id: id, title: titles[Int(id & 15)]))
                                }
                            }
                        }
                    ]
                }
            ]
        )
        let expected = Expected()
        let subscription = publisher.subscribe(to: PathTravelled.self) { event in
            precondition(event.id == expected.next, "\(event.id) came where \(expected.next) was expected")
            expected.next += 1
            if expected.next == count { arrived.signal() }
        }
        publisher.publish(TravelBegun(count: count))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                arrived.wait()
                continuation.resume()
            }
        }
        subscription.cancel()
        await bridge.shutdown()
    }

    private final class Expected: @unchecked Sendable {
        // Sendable: only the thread that reads the link is here.
        var next: Int64 = 0
    }
}
