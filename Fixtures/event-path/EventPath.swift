import BridgePlatform
import CAllocationCounter
import Dispatch
import DomainEvents

/// Sends events through a bridge in one process, or through parts of one, and prints how many allocations they took.
///
/// CI checks the numbers that `event-path JOURNEY COUNT [WARM-UP]` prints. `main` is not asynchronous: tools that count
/// instructions fail when an asynchronous `main` gives up the main thread.
@main
enum EventPath {
    private static let usage =
        "usage: event-path \(Journey.allCases.map(\.rawValue).joined(separator: "|")) COUNT [WARM-UP]"
    private static let usageStatus: CInt = 64
    private static let softwareStatus: CInt = 70

    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.dropFirst().compactMap { Int64($0) }
        guard let journey = arguments.first.flatMap({ Journey(rawValue: $0) }), (1...2).contains(numbers.count),
            numbers.count == arguments.count - 1, numbers.allSatisfy({ $0 > 0 })
        else { end(usage, usageStatus) }
        let isDone = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await run(journey, numbers[0], warmUp: numbers.count > 1 ? numbers[1] : 20_000)
            } catch {
                end("\(error)", softwareStatus)
            }
            isDone.signal()
        }
        isDone.wait()
    }

    /// Runs the journey, and counts allocations only after the warm-up, when every buffer is as large as it gets.
    private static func run(_ journey: Journey, _ count: Int64, warmUp: Int64) async throws {
        let allocations: Int64
        switch journey {
        case .flood: allocations = try await travel(PathTravelled.self, .oneWay, count, warmUp)
        case .laidOutFlood: allocations = try await travel(PathLaidOut.self, .oneWay, count, warmUp)
        case .recordedFlood:
            allocations = try await travel(PathLaidOut.self, .oneWay, count, warmUp, isRecorded: true)
        case .trips: allocations = try await travel(PathTravelled.self, .thereAndBack, count, warmUp)
        case .recordedTrips:
            allocations = try await travel(PathTravelled.self, .thereAndBack, count, warmUp, isRecorded: true)
        case .relay: allocations = try await travel(PathLaidOut.self, .relayed, count, warmUp)
        case .fanOut: allocations = try await travel(PathLaidOut.self, .toMany, count, warmUp)
        case .local: allocations = try await publish(count, warmUp, isRecorded: false)
        case .recordedLocal: allocations = try await publish(count, warmUp, isRecorded: true)
        case .records: allocations = try await record(count, warmUp)
        case .codec:
            let codec = PathCodec()
            for id in 0..<warmUp { try codec.pass(id) }
            cac_begin()
            for id in 0..<count { try codec.pass(id) }
            allocations = cac_end()
        }
        let counted = cac_is_counting_possible() == 1 ? "\(allocations)" : "unknown"
        CurrentProcess.writeAll("\(journey.rawValue): \(count) events, \(counted) allocations\n", to: 1)
    }

    /// Publishes events to a subscriber of this process.
    private static func publish(_ count: Int64, _ warmUp: Int64, isRecorded: Bool) async throws -> Int64 {
        let publisher = EventPublisher()
        let journal = isRecorded ? try PathJournal(of: PathTravelled.self, publisher) : nil
        let progress = Progress()
        let subscription = publisher.subscribe(to: PathTravelled.self) { _ = progress.arrived($0) }
        _ = progress.begin(warmUp + count)
        for id in 0..<warmUp { publisher.publish(PathTravelled(id: id, title: PathTitle.of(id))) }
        cac_begin()
        for id in warmUp..<warmUp + count { publisher.publish(PathTravelled(id: id, title: PathTitle.of(id))) }
        let allocations = cac_end()
        subscription.cancel()
        try await journal?.end()
        return allocations
    }

    /// Records events that arrive and events that are owed, without a bridge.
    private static func record(_ count: Int64, _ warmUp: Int64) async throws -> Int64 {
        let publisher = EventPublisher()
        let journal = try PathJournal(of: PathTravelled.self, publisher)
        let records = PathRecords(of: publisher)
        for id in 0..<warmUp { records.pass(id) }
        cac_begin()
        for id in warmUp..<warmUp + count { records.pass(id) }
        let allocations = cac_end()
        try await journal.end()
        return allocations
    }

    private static func travel<Event: PathEvent>(
        _ type: Event.Type,
        _ way: Way,
        _ count: Int64,
        _ warmUp: Int64,
        isRecorded: Bool = false
    ) async throws -> Int64 {
        let traveller = try await Traveller<Event>(way, isRecorded: isRecorded)
        try await traveller.travel(warmUp)
        cac_begin()
        try await traveller.travel(count)
        let allocations = cac_end()
        try await traveller.end()
        return allocations
    }

    static func end(_ text: String, _ status: CInt) -> Never {
        CurrentProcess.report(text)
        CurrentProcess.exitImmediately(status)
    }
}
