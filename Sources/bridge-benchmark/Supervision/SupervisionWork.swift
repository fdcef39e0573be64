import BridgePlatform
import DomainEvents
import EventBridge
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
        let reports = SupervisionReports(publisher)
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
            switch await reports.ready(number + 1) {
            case .ready(let exited, let ready):
                noticed.append(exited - begin)
                replaced.append(ready - begin)
            case .gaveUp(let reason): Report.fail("the worker was given up: \(reason)")
            }
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
}
