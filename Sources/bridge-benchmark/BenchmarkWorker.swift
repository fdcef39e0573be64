import BridgePlatform
import BridgeWorker
import DomainEvents

/// The worker's half of each work that has workers: a bridge starts this same program as the worker.
enum BenchmarkWorker {
    /// - Parameter arguments: the name of the work, and its options.
    static func run(_ arguments: ArraySlice<String>) async {
        let work = arguments.first ?? ""
        let rest = arguments.dropFirst()
        await BridgeWorker.main { publisher in
            switch work {
            case "W1":
                let form = rest.first.flatMap { EventForm(rawValue: $0) } ?? .codable
                return RoundTripWork.answer(form, others: rest.last.flatMap { Int($0) } ?? 0, publisher)
            case "W2":
                guard let part = FloodPart(rest) else { Report.fail("a worker does not know what to send") }
                return FloodWorker.send(part, publisher)
            case "W2-sink": return FloodWorker.receive(rest.first.flatMap { Int64($0) } ?? 1, publisher)
            case "W3": return BlobWork.send(publisher)
            case "W4":
                publisher.publish(BenchmarkEvent(1))
                return []
            case "W4-memory":
                publisher.publish(BenchmarkEvent(1))
                publisher.publish(BenchmarkResident(bytes: CurrentProcess.residentBytes() ?? 0))
                return []
            case "idle": return [publisher.subscribe(to: BenchmarkAwaited.self) { _ in }]
            case "slow":
                return [publisher.subscribe(to: BenchmarkLoad.self) { _ in CurrentProcess.pause(milliseconds: 1) }]
            case "stopped": return stops(publisher)
            default: Report.fail("\"\(work)\" is no work for a worker")
            }
        }
    }

    private static func stops(_ publisher: EventPublisher) -> [Subscription] {
        [
            publisher.subscribe(to: BenchmarkStopped.self) { _ in CurrentProcess.stop() },
            publisher.subscribe(to: BenchmarkLoad.self) { _ in },
        ]
    }
}
