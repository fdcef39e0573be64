import BridgePlatform
import DomainEvents
import EventRouting
import Locks

/// Passes on what a worker prints in all of its starts, within a rate, and reports what was left out.
final class OutputGate: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    enum Target: Sendable {
        case closure(@Sendable (WorkerOutput) -> Void)
        /// Lines are published, and printed unless this process or a worker subscribes to them.
        case published(otherwise: UnclaimedOutput)
    }

    /// How long the gate counts lines that it leaves out before it reports them, in nanoseconds.
    private static let interval: UInt64 = 1_000_000_000

    private let worker: String
    private let reports: ReportStrand
    private let poller: Poller
    private let router: EventRouter?
    private let target: Target
    private let lock = Lock()
    private var meter: OutputMeter
    private var isToldLater = false

    /// - Parameter router: knows which processes subscribe to the lines; nil if none can.
    init(
        worker: String,
        rate: Int,
        reports: ReportStrand,
        poller: Poller,
        router: EventRouter?,
        target: Target
    ) {
        self.worker = worker
        self.reports = reports
        self.poller = poller
        self.router = router
        self.target = target
        meter = OutputMeter(rate: rate, at: MonotonicClock.now())
    }

    func take(_ line: LinePipe.Line, isError: Bool) {
        let (passes, isFirst) = lock.withLock {
            let passes = meter.passes(line.bytes.count, at: MonotonicClock.now())
            defer { if !passes { isToldLater = true } }
            return (passes, !passes && !isToldLater)
        }
        if passes {
            let output = WorkerOutput(worker: worker, isError: isError, line: line.text)
            switch target {
            case .closure(let closure): closure(output)
            case .published(let otherwise):
                let isWanted = reports.publish(output, bytes: line.bytes.count)
                // A client that looks on, such as `supervisor logs`, takes the lines away from nothing.
                let isLeftToClients = router?.isWantedByAttachedAlone(WorkerOutput.eventName) ?? false
                if !isWanted || isLeftToClients { otherwise.print(line.text, of: worker) }
            }
        }
        if isFirst { poller.schedule(after: Self.interval) { [weak self] in self?.tell() } }
    }

    /// Reports what was left out and not reported yet.
    func tell() {
        let dropped = lock.withLock {
            isToldLater = false
            return meter.takeDropped()
        }
        guard let dropped else { return }
        reports.publish(WorkerOutputDropped(worker: worker, lines: dropped.lines, bytes: dropped.bytes))
    }
}
