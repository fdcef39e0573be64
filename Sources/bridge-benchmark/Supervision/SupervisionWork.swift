import BridgePlatform
import DomainEvents
import EventBridge
import Locks
import Supervision

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Measures supervision: how soon a death is noticed and the worker replaced, and what idle workers cost their host.
enum SupervisionWork {
    /// How long the workers are idle, in seconds; with only a few workers, a run just shows that the work can be done.
    private static func idleSeconds(_ workers: Int) -> Int { workers < 10 ? 1 : 5 }

    /// Kills `kills` processes of one worker in a row, each as soon as it is ready.
    ///
    /// The time to the replacement includes the back-off, which is a millisecond.
    static func run(kills: Int) async throws {
        let publisher = EventPublisher()
        let reports = Reports(publisher)
        let worker = WorkerSpecification(
            "benchmark",
            executable: .beside("bridge-benchmark"),
            arguments: ["worker", "idle"],
            subscribes: [BenchmarkAwaited.self],
            backoff: .exponential(from: .milliseconds(1), to: .milliseconds(1), jitter: 0)
        )
        let bridge = try BridgeHost(
            publisher: publisher,
            workers: [worker],
            intensity: RestartIntensity(restarts: kills + 1, within: .seconds(3_600))
        )
        try await bridge.start()
        var (noticed, replaced): ([UInt64], [UInt64]) = ([], [])
        for number in 1...kills {
            guard let pid = bridge.status.first?.pid else { Report.fail("the worker has no process") }
            let begin = MonotonicClock.now()
            guard kill(pid, SIGKILL) == 0 else { Report.fail("the worker cannot be killed") }
            let times = await reports.ready(number + 1)
            noticed.append(times.exited - begin)
            replaced.append(times.ready - begin)
        }
        await bridge.shutdown()
        Report.deaths(noticed: noticed, replaced: replaced)
    }

    /// Leaves workers idle, and measures their cost.
    static func runIdle(workers idleWorkers: Int) async throws {
        let before = CurrentProcess.residentBytes() ?? 0
        var design = BenchmarkBridge()
        design.addIdle(idleWorkers)
        let bridge = try await design.start()
        let begin = CurrentProcess.processorNanoseconds()
        let seconds = idleSeconds(idleWorkers)
        try await Task.sleep(for: .seconds(seconds))
        let used = CurrentProcess.processorNanoseconds() - begin
        let resident = (CurrentProcess.residentBytes() ?? 0) - before
        await design.stop(bridge)
        Report.idle(
            workers: idleWorkers,
            nanosecondsPerSecond: used / UInt64(seconds),
            bytesPerWorker: resident / idleWorkers
        )
    }

    /// The times of the bridge's reports.
    private final class Reports: @unchecked Sendable {
        // Sendable: `lock` guards everything mutable but `subscriptions`, which only `init` sets.
        private let lock = Lock()
        private var exited: UInt64 = 0
        private var starts = 0
        private var readyAt: UInt64 = 0
        private var waiter: (start: Int, continuation: CheckedContinuation<Void, Never>)?
        private var subscriptions: [Subscription] = []

        init(_ publisher: EventPublisher) {
            subscriptions = [
                publisher.subscribe(to: WorkerExited.self) { [weak self] _ in self?.noteExit(MonotonicClock.now()) },
                publisher.subscribe(to: WorkerReady.self) { [weak self] in self?.note($0.start, MonotonicClock.now()) },
            ]
        }

        /// Waits until this start is ready, and returns the times of the last exit and of the readiness.
        func ready(_ start: Int) async -> (exited: UInt64, ready: UInt64) {
            await withCheckedContinuation { continuation in
                let isReady = lock.withLock {
                    if starts < start { waiter = (start, continuation) }
                    return starts >= start
                }
                if isReady { continuation.resume() }
            }
            return lock.withLock { (exited, readyAt) }
        }

        private func noteExit(_ time: UInt64) {
            lock.withLock { exited = time }
        }

        private func note(_ start: Int, _ time: UInt64) {
            let waiter: CheckedContinuation<Void, Never>? = lock.withLock {
                (starts, readyAt) = (start, time)
                guard let waiter = self.waiter, waiter.start <= start else { return nil }
                self.waiter = nil
                return waiter.continuation
            }
            waiter?.resume()
        }
    }
}
