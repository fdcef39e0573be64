import BridgeControl
import BridgePlatform
import BridgeProtocol
import CBOR
import DomainEvents
import EventRouting
import Supervision

/// What a host reports about itself to the processes that ask.
extension BridgeReport {
    /// - Parameter uptime: the time since the host's start, in nanoseconds.
    init(of core: HostCore, clients: [ClientStatus], uptime: UInt64) {
        let statuses = core.statusByIndex
        let statistics = Dictionary(core.statistics.map { ($0.worker, $0) }) { first, _ in first }
        self.init(
            pid: CurrentProcess.identifier,
            library: LibraryVersion.text,
            protocolVersion: ProtocolVersion.supported.upperBound,
            uptimeMilliseconds: uptime / 1_000_000,
            isStopping: core.router.hasClosedIntake,
            residentBytes: CurrentProcess.residentBytes().map { UInt64($0) },
            workers: statuses.map { index, status in
                WorkerReport(
                    status,
                    pool: core.worker(index).peer.pool?.name,
                    core.present(index),
                    statistics[status.name]
                )
            },
            clients: clients.map {
                ClientReport(
                    client: $0.client,
                    title: $0.title,
                    pid: $0.pid,
                    user: $0.user,
                    outboxEvents: $0.outboxEvents,
                    dropped: $0.dropped
                )
            },
            journal: core.publisher.recording.report.map(JournalReport.init)
        )
    }
}

extension JournalReport {
    fileprivate init(_ report: RecordingReport) {
        self.init(
            firstPosition: report.firstPosition,
            lastPosition: report.lastPosition,
            safePosition: report.safePosition,
            unsafeMilliseconds: report.unsafeNanoseconds.map { $0 / 1_000_000 },
            segments: report.segments,
            bytes: UInt64(clamping: report.bytes),
            failure: report.failure,
            owedPosition: report.owedPosition,
            owedMilliseconds: report.owedNanoseconds.map { $0 / 1_000_000 }
        )
    }
}

extension BridgeReport {
    /// The report in the encoding of events, in at most `limit` bytes.
    ///
    /// If the whole report is too long, this leaves out the workers' settling times, which are most of a report.
    ///
    /// - Returns: The encoded report; nil if it is too long even without the settling times.
    package func encoded(within limit: Int) -> [UInt8]? {
        var shorter = self
        for index in shorter.workers.indices { shorter.workers[index].settling = nil }
        for report in [self, shorter] {
            if let bytes = try? CBOREncoder().encode(report), bytes.count <= limit { return bytes }
        }
        return nil
    }
}

extension WorkerReport {
    fileprivate init(
        _ status: WorkerStatus,
        pool: String?,
        _ present: WorkerIncarnation?,
        _ statistics: WorkerStatistics?
    ) {
        let missing = status.pid == nil ? [] : present?.missingFromBox ?? []
        self.init(
            name: status.name,
            pool: pool,
            pid: status.pid,
            state: status.state.word,
            detail: status.detail,
            starts: status.starts,
            restarts: status.restarts,
            uptimeMilliseconds: status.pid == nil ? nil : present?.age.map { $0 / 1_000_000 },
            lastExit: status.lastExit?.description,
            violations: statistics?.violations ?? 0,
            residentBytes: status.pid.flatMap { OperatingSystem.residentBytes(of: $0) }.map { UInt64($0) },
            missingFromBox: missing.isEmpty ? nil : missing,
            settling: statistics?.settling,
            sent: statistics.map { EventTotals($0.sent) } ?? EventTotals(),
            received: statistics.map { EventTotals($0.received) } ?? EventTotals()
        )
    }
}

extension EventTotals {
    fileprivate init(_ counts: EventCounts) {
        self.init()
        offered = counts.offered
        rejected = counts.rejected
        handled = counts.handled
        unwanted = counts.unwanted
        unconfirmed = counts.unconfirmed
        refused = counts.refused
        coalesced = counts.coalesced
        dropped = counts.dropped
        deadLettered = counts.deadLettered
        lost = counts.lost
        waiting = counts.waiting
        waitingBytes = UInt64(clamping: counts.waitingBytes)
        bytes = counts.bytes
    }
}

extension ChildState {
    /// The name of the state, without its details.
    fileprivate var word: String {
        switch self {
        case .notStarted: "not started"
        case .starting: "starting"
        case .ready: "ready"
        case .draining: "draining"
        case .stopping: "stopping"
        case .backingOff: "backing off"
        case .dormant: "dormant"
        case .stopped: "stopped"
        case .gaveUp: "gave up"
        }
    }
}

extension ChildStatus {
    /// A phrase about the state; nil for none.
    fileprivate var detail: String? {
        switch state {
        case .backingOff(let attempt, let until):
            let wait = until.map { max($0 - .onMonotonicClock, .zero) }
            let tenths = wait.map { Duration.milliseconds(Int64($0.milliseconds / 100 * 100)) }
            return "attempt \(attempt)\(tenths.map { ", again in \($0.text)" } ?? "")"
        case .gaveUp(let reason): return reason
        default: break
        }
        if let ended {
            return "\(fault ?? ended); waits for \(waitsFor ?? "what it has left")"
        }
        if let fault { return fault.description }
        return replacement.map { next in
            next.isReady
                ? "finishes what it has; process \(next.pid.map { "\($0)" } ?? "") takes its place"
                : "another process comes up to take its place"
        }
    }
}
