import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting

/// A bridge in one process, with the sender and the receiver of its events.
final class Traveller<Event: PathEvent>: Sendable {
    private let isThereAndBack: Bool
    private let publisher = EventPublisher()
    private let bridge: BridgeHost
    private let progress = Progress()
    private let subscription: Subscription

    /// - Parameter isThereAndBack: whether each event waits until the one before has been answered.
    init(isThereAndBack: Bool) async throws {
        self.isThereAndBack = isThereAndBack
        let worker = InMemoryWorker("traveller", subscribes: [TravelBegun.self, PathReturned.self]) { publisher in
            [
                publisher.subscribe(to: TravelBegun.self) { begun in
                    Task.detached {
                        for id in begun.first..<begun.first + begun.count {
                            try await publisher.send(Event(id: id, title: PathTitle.of(id)))
                        }
                    }
                },
                publisher.subscribe(to: PathReturned.self) { event in
                    publisher.publish(Event(id: event.id, title: event.title))
                },
            ]
        }
        bridge = try await BridgeHost.inMemory(publisher, workers: [worker])
        subscription = publisher.subscribe(to: Event.self) { [publisher, progress] event in
            let isLast = progress.arrived(event)
            if isThereAndBack, !isLast {
                let next = event.id + 1
                publisher.publish(PathReturned(id: next, title: PathTitle.of(next)))
            }
        }
    }

    /// Lets `count` events travel, and returns when all have arrived in order and nothing is on its way any more.
    func travel(_ count: Int64) async {
        let (first, arrived) = progress.begin(count)
        if isThereAndBack {
            publisher.publish(PathReturned(id: first, title: PathTitle.of(first)))
        } else {
            publisher.publish(TravelBegun(first: first, count: count))
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                arrived.wait()
                continuation.resume()
            }
        }
        await bridge.waitUntilIdle()
    }

    func end() async {
        subscription.cancel()
        await bridge.shutdown()
    }
}
