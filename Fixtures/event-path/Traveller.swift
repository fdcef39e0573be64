import Dispatch
import DomainEvents
import EventBridge
import EventBridgeTesting

/// A bridge in one process, with the senders and the receivers of its events.
final class Traveller<Event: PathEvent>: Sendable {
    private let way: Way
    private let publisher = EventPublisher()
    private let bridge: BridgeHost
    /// What has arrived at each receiver.
    private let progress: [Progress]
    private let subscription: Subscription?
    private let journal: PathJournal?
    private let flood = Flood()

    /// - Parameter isRecorded: whether a journal of the host records the events.
    init(_ way: Way, isRecorded: Bool) async throws {
        self.way = way
        journal = isRecorded ? try PathJournal(of: Event.self, publisher) : nil
        let progress = (0..<way.receivers).map { _ in Progress() }
        self.progress = progress
        switch way {
        case .oneWay, .thereAndBack:
            let arrived = progress[0]
            subscription = publisher.subscribe(to: Event.self) { [publisher] event in
                let isLast = arrived.arrived(event)
                if case .thereAndBack = way, !isLast {
                    let next = event.id + 1
                    publisher.publish(PathReturned(id: next, title: PathTitle.of(next)))
                }
            }
        case .relayed, .toMany: subscription = nil
        }
        let receivers = Self.receivers(progress)
        let workers =
            switch way {
            case .oneWay, .thereAndBack: [Self.sender(flood)]
            case .relayed: [Self.sender(flood)] + receivers
            case .toMany: receivers
            }
        let launcher = GatedLauncher(
            workers: workers,
            flood: flood,
            workerEnds: [Self.senderName],
            hostEnds: Set(receivers.map(\.specification.name))
        )
        bridge = try BridgeHost(publisher: publisher, workers: workers.map(\.specification), launcher: launcher)
        try await bridge.start()
    }

    private static var senderName: String { "sender" }

    /// A worker that sends as many events as it is asked for, and answers each event that comes back.
    private static func sender(_ flood: Flood) -> InMemoryWorker {
        InMemoryWorker(senderName, subscribes: [TravelBegun.self, PathReturned.self]) { publisher in
            [
                publisher.subscribe(to: TravelBegun.self) { begun in
                    Task.detached {
                        do {
                            try await flood.send(Event.self, begun, by: publisher)
                        } catch {
                            EventPath.end("\(error)", 70)
                        }
                    }
                },
                publisher.subscribe(to: PathReturned.self) { event in
                    publisher.publish(Event(id: event.id, title: event.title))
                },
            ]
        }
    }

    private static func receivers(_ progress: [Progress]) -> [InMemoryWorker] {
        progress.enumerated().map { number, progress in
            InMemoryWorker("receiver-\(number)", subscribes: [Event.self]) { publisher in
                [publisher.subscribe(to: Event.self) { _ = progress.arrived($0) }]
            }
        }
    }

    /// Lets `count` events travel, and returns when all have arrived in order at each receiver and nothing is on its
    /// way any more.
    func travel(_ count: Int64) async throws {
        let begun = progress.map { $0.begin(count) }
        let first = begun[0].first
        switch way {
        case .thereAndBack: publisher.publish(PathReturned(id: first, title: PathTitle.of(first)))
        case .oneWay, .relayed: publisher.publish(TravelBegun(first: first, count: count))
        case .toMany: try await flood.send(Event.self, TravelBegun(first: first, count: count), by: publisher)
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                for arrival in begun { arrival.arrived.wait() }
                continuation.resume()
            }
        }
        await bridge.waitUntilIdle()
    }

    func end() async throws {
        subscription?.cancel()
        await bridge.shutdown()
        try await journal?.end()
    }
}
