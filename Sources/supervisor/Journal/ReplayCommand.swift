import BridgeClient
import BridgeControl
import BridgePlatform
import DomainEvents
import Journal

/// `supervisor journal replay`: has a running supervisor send the events of a journal to one worker again.
///
/// This process reads the files, and sends the supervisor a few events at a time: the next ones when the worker has
/// settled the previous ones. So ending this process ends the replay.
struct ReplayCommand {
    let selection: JournalSelection
    let target: ReplayTarget
    let isJSON: Bool

    /// A limit that is never reached: a worker takes as long as it takes.
    private static let answerLimit = Duration.seconds(366 * 24 * 3600)

    func run(_ journal: StoredJournal, printing: (String) -> ProgramStatus) async throws -> ProgramStatus {
        // An event that is recorded from now on goes to the worker when it is published, so it needs no replay.
        let last = try journal.lastPosition()
        return try await HostConnection.ask(target.control, as: .journal) { client in
            try await check(client)
            var run = ReplayRun(client: client, target: target, isJSON: isJSON)
            let status = try await replay(journal, to: last, &run, printing)
            guard status == .success else { return status }
            let printed = printing(ReplayText.summary(run.tally, worker: target.worker, isJSON: isJSON))
            return printed == .success ? run.tally.status : printed
        }
    }

    /// Checks that the supervisor has a worker of this name, and that the name is not that of a pool.
    private func check(_ client: BridgeClient) async throws {
        let report = try await client.status()
        if report.workers.contains(where: { $0.name == target.worker }) { return }
        let members = report.workers.filter { $0.pool == target.worker }.map { "\"\($0.name)\"" }
        guard !members.isEmpty else { throw RunFailure(unknownWorker: target.worker, among: report.workerNames) }
        throw RunFailure(
            status: .usage,
            description:
                """
                supervisor: "\(target.worker)" is a pool, and events are replayed to one worker, such as \
                \(members.joined(separator: ", "))
                """
        )
    }

    private func replay(
        _ journal: StoredJournal,
        to last: UInt64,
        _ run: inout ReplayRun,
        _ printing: (String) -> ProgramStatus
    ) async throws -> ProgramStatus {
        let reading = journal.reading(after: selection.position, where: selection.query)
        var left = selection.limit ?? .max
        steps: while left > 0, let step = try reading.next() {
            let status: ProgramStatus
            switch step {
            case .event(let record):
                guard record.position <= last else { break steps }
                status = try await run.take(record, printing)
                left -= 1
            case .gap(let gap):
                guard gap.positions.map({ $0.lowerBound <= last }) ?? true else { break steps }
                status = try await run.take(gap, printing)
            }
            guard status == .success else { return status }
        }
        return try await run.send(printing, hasMore: false)
    }

    /// The events that are sent next, or are being sent, and what has become of the earlier ones.
    private struct ReplayRun {
        let client: BridgeClient
        let target: ReplayTarget
        let isJSON: Bool
        private(set) var tally = ReplayTally()
        private var batch: [JournalRecord] = []
        private var batchBytes = 0
        /// When the first event was published, in nanoseconds since 1970, and when it was due, on the monotonic clock.
        private var start: (published: UInt64, due: UInt64)?
        private var hasToldBusy = false

        init(client: BridgeClient, target: ReplayTarget, isJSON: Bool) {
            (self.client, self.target, self.isJSON) = (client, target, isJSON)
        }

        /// Takes the next event when it is due; first sends the events before it, if it must wait or would not fit.
        mutating func take(
            _ record: JournalRecord,
            _ printing: (String) -> ProgramStatus
        ) async throws -> ProgramStatus {
            let published = record.context.nanosecondsSinceEpoch
            let start = self.start ?? (published, MonotonicClock.now())
            self.start = start
            let delay = target.pace.delay(of: published, after: start.published)
            let isDue = delay <= MonotonicClock.now() - start.due
            let isFull =
                batch.count == EventsReplayRequested.mostEvents
                || batchBytes + record.payload.count > EventsReplayRequested.mostBytes
                // A journal may have an imported event twice, and a request for a replay may not.
                || batch.contains { $0.context.id == record.context.id }
            if !isDue || isFull {
                let status = try await send(printing, hasMore: true)
                guard status == .success else { return status }
            }
            let elapsed = MonotonicClock.now() - start.due
            if delay > elapsed { try await Task.sleep(for: .nanoseconds(Int64(clamping: delay - elapsed))) }
            batch.append(record)
            batchBytes += record.payload.count
            return .success
        }

        /// Sends the events before a gap, and then prints the gap.
        mutating func take(
            _ gap: JournalGap,
            _ printing: (String) -> ProgramStatus
        ) async throws -> ProgramStatus {
            let status = try await send(printing, hasMore: true)
            guard status == .success else { return status }
            tally.add(gap)
            return printing(JournalText.line(.gap(gap), isJSON: isJSON))
        }

        /// Sends what was taken, and returns when the worker has settled it.
        ///
        /// - Parameter hasMore: whether the replay goes on; other replays to the worker then wait for its end.
        mutating func send(_ printing: (String) -> ProgramStatus, hasMore: Bool) async throws -> ProgramStatus {
            guard !batch.isEmpty else { return .success }
            let outcome = try await outcome(hasMore: hasMore)
            for (record, result) in zip(batch, outcome.results) {
                tally.add(record, result)
                if result.kind == .unavailable { throw failure(result.reason ?? "the worker is unavailable") }
                guard result.kind == .refused else { continue }
                let status = printing(ReplayText.refused(record, result.reason, isJSON: isJSON))
                guard status == .success else { return status }
            }
            guard outcome.kind == .done, outcome.results.count == batch.count else {
                throw failure(outcome.refusal ?? "the supervisor has not said what became of the events")
            }
            (batch, batchBytes) = ([], 0)
            return .success
        }

        private mutating func outcome(hasMore: Bool) async throws -> ReplayOutcome {
            let events = batch.map { ReplayedEvent(event: $0.name, context: $0.context, payload: $0.payload) }
            while true {
                let outcome: ReplayOutcome
                do {
                    outcome = try await client.replay(
                        events,
                        to: target.worker,
                        hasMore: hasMore,
                        within: ReplayCommand.answerLimit
                    )
                } catch {
                    let failed = RunFailure(error)
                    throw RunFailure(status: failed.status, description: "\(failed.description); \(tally.progress)")
                }
                guard outcome.kind == .busy else { return outcome }
                if !hasToldBusy {
                    hasToldBusy = true
                    CurrentProcess.report("supervisor: waiting for another replay to worker \"\(target.worker)\"")
                }
                // A random pause, so that replays that wait do not come back together.
                try await Task.sleep(for: .milliseconds(.random(in: 20...150)))
            }
        }

        private func failure(_ sentence: String) -> RunFailure {
            RunFailure(
                status: .workerUnavailable,
                description: TerminalText.harmlessLines("supervisor: \(sentence); \(tally.progress)")
            )
        }
    }
}
