import BridgePlatform
import Dispatch
import DomainEvents

/// A worker's part in a flood: sends, or receives and checks.
enum FloodWorker {
    static func send(_ part: FloodPart, _ publisher: EventPublisher) -> [Subscription] {
        KnownTypes.subscribe(part.knownTypes, to: publisher) + [
            publisher.subscribe(to: BenchmarkStarted.self) { start in
                switch part.form {
                case .codable: begin(part, BenchmarkEvent.self, start.count, publisher)
                case .layout: begin(part, BenchmarkLaidOutEvent.self, start.count, publisher)
                }
            }
        ]
    }

    /// Sends outside the handler, because a handler cannot wait for room.
    private static func begin<Event: TitledEvent>(
        _ part: FloodPart,
        _ event: Event.Type,
        _ count: Int64,
        _ publisher: EventPublisher
    ) {
        let lanes = Int64(part.lanes)
        if part.threads == 1 {
            Task.detached {
                do {
                    for id in stride(from: Int64(part.worker), to: count, by: Int64.Stride(lanes)) {
                        try await publisher.send(Event(id))
                    }
                } catch {
                    Report.fail("\(error)")
                }
            }
            return
        }
        for thread in 0..<part.threads {
            let lane = Int64(part.worker * part.threads + thread)
            do {
                try PlatformThread.start(name: "lane \(lane)") {
                    publish(event, stride(from: lane, to: count, by: Int64.Stride(lanes)), publisher)
                }
            } catch {
                Report.fail("\(error)")
            }
        }
    }

    /// Publishes, and waits for room so often that the events in between stay far below the outbox's hard limit.
    private static func publish<Event: TitledEvent>(
        _ event: Event.Type,
        _ numbers: StrideTo<Int64>,
        _ publisher: EventPublisher
    ) {
        let hasRoom = DispatchSemaphore(value: 0)
        var sinceWaiting = 0
        for id in numbers {
            sinceWaiting += 1
            guard sinceWaiting == 4_096 else {
                publisher.publish(Event(id))
                continue
            }
            sinceWaiting = 0
            Task.detached {
                do {
                    try await publisher.send(Event(id))
                } catch {
                    Report.fail("\(error)")
                }
                hasRoom.signal()
            }
            hasRoom.wait()
        }
    }

    /// Receives the host's events, and reports when all have come.
    static func receive(_ count: Int64, _ publisher: EventPublisher) -> [Subscription] {
        let flood = Flood(count: count)
        return [
            publisher.subscribe(to: BenchmarkEvent.self) { event in
                event.checkTitle()
                if flood.arrived(event.id) {
                    let interval = flood.interval
                    publisher.publish(BenchmarkReceived(first: interval.lowerBound, last: interval.upperBound))
                }
            }
        ]
    }
}
