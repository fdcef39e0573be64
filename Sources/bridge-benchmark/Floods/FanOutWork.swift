import DomainEvents
import Locks

/// W2 in the other direction: from the host to several workers; each worker gets and checks every event.
enum FanOutWork {
    static func run(_ name: String, workers: Int, count: Int64) async throws {
        var design = BenchmarkBridge()
        for worker in 0..<workers {
            design.add("benchmark-\(worker)", ["W2-sink", "\(count)"], subscribes: [BenchmarkEvent.self])
        }
        let publisher = design.publisher
        let reports = Reports(workers)
        let subscription = publisher.subscribe(to: BenchmarkReceived.self) { reports.add($0) }
        let bridge = try await design.start()
        for id in 0..<count { try await publisher.send(BenchmarkEvent(id)) }
        await reports.all.wait()
        await design.stop(bridge)
        subscription.cancel()
        Report.flood(name, .codable, count * Int64(workers), nanoseconds: reports.nanoseconds)
    }

    private final class Reports: @unchecked Sendable {
        // Sendable: guarded by `lock`.
        let all = Finish()
        private let lock = Lock()
        private var remaining: Int
        private var first = UInt64.max
        private var last: UInt64 = 0

        init(_ workers: Int) {
            remaining = workers
        }

        /// The time from the first arrival of an event in any worker to the last arrival.
        var nanoseconds: UInt64 { lock.withLock { last - first } }

        func add(_ report: BenchmarkReceived) {
            let isLast = lock.withLock {
                first = min(first, report.first)
                last = max(last, report.last)
                remaining -= 1
                return remaining == 0
            }
            if isLast { all.finish() }
        }
    }
}
