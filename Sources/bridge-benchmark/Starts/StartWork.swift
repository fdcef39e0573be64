import BridgePlatform
import DomainEvents
import Locks

/// W4: the time from the start of a worker to its first event, and the worker's memory at that time.
enum StartWork {
    static func run(count: Int) async throws {
        var times: [UInt64] = []
        for _ in 0..<count {
            let begin = MonotonicClock.now()
            let (arrived, _): (UInt64, BenchmarkEvent) = try await first("W4")
            times.append(arrived - begin)
        }
        Report.starts("event-bridge", times)
    }

    static func runForMemory(count: Int) async throws {
        var sizes: [Int] = []
        for _ in 0..<count {
            let (_, resident): (UInt64, BenchmarkResident) = try await first("W4-memory")
            sizes.append(resident.bytes)
        }
        Report.residents("event-bridge", sizes)
    }

    /// The first event of a new worker, and the time when it came.
    private static func first<Event: DomainEvent>(_ work: String) async throws -> (UInt64, Event) {
        var design = BenchmarkBridge()
        design.add("benchmark", [work], subscribes: [])
        let done = Finish()
        let arrival = Arrival<Event>()
        let subscription = design.publisher.subscribe(to: Event.self) { event in
            arrival.set(MonotonicClock.now(), event)
            done.finish()
        }
        let bridge = try await design.start()
        await done.wait()
        subscription.cancel()
        await design.stop(bridge)
        guard let (time, event) = arrival.value else { Report.fail("the worker's first event has got lost") }
        (event as? BenchmarkEvent)?.checkTitle()
        return (time, event)
    }

    private final class Arrival<Event: Sendable>: @unchecked Sendable {
        // Sendable: guarded by `lock`.
        private let lock = Lock()
        private var arrived: (UInt64, Event)?

        var value: (UInt64, Event)? { lock.withLock { arrived } }

        func set(_ time: UInt64, _ event: Event) {
            lock.withLock { arrived = (time, event) }
        }
    }
}
