import BridgePlatform
import CBOR
import DomainEvents
import Locks

/// Measures growth: one worker sends more in each step over one link, and each step ends with a measurement of the
/// host's memory.
enum LongFloodWork {
    /// - Parameter megabytes: the most that a step sends; each step sends ten times as much as the previous step.
    static func run(megabytes: Int64) async throws {
        var design = BenchmarkBridge()
        design.add("benchmark", FloodPlan().arguments(worker: 0), subscribes: [BenchmarkStarted.self])
        let publisher = design.publisher
        let arrival = Arrival()
        let subscription = publisher.subscribe(to: BenchmarkEvent.self) { event in
            event.checkTitle()
            arrival.arrived(event.id)
        }
        let bridge = try await design.start()
        let payload = Int64(try CBOREncoder().encode(BenchmarkEvent(100_000)).count)
        for step in sequence(first: 1, next: { $0 <= megabytes / 10 ? $0 * 10 : nil }) {
            let count = step * 1_000_000 / payload
            let flood = Flood(count: count)
            let done = arrival.begin(flood)
            publisher.publish(BenchmarkStarted(count: count, blobBytes: 0))
            await done.wait()
            Report.cost(
                "growth-sent-\(step)MB",
                count,
                nanoseconds: flood.nanoseconds,
                residentBytes: CurrentProcess.residentBytes() ?? 0
            )
        }
        await design.stop(bridge)
        subscription.cancel()
    }

    /// The flood that is under way.
    private final class Arrival: @unchecked Sendable {
        // Sendable: changed before the worker is asked to send; afterwards only the thread that reads the link uses it.
        private var flood = Flood(count: 1)
        private var done = Finish()

        func begin(_ flood: Flood) -> Finish {
            self.flood = flood
            done = Finish()
            return done
        }

        func arrived(_ id: Int64) {
            if flood.arrived(id) { done.finish() }
        }
    }
}
