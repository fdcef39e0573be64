import BridgeControl

/// A report in the text format of Prometheus: families of samples, each family with its help text and its type.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats
enum MetricsText {
    static func text(_ report: BridgeReport) -> String {
        families.map { $0.text(report) }.joined(separator: "\n")
    }

    static let families = ofSupervisor + ofJournal + ofWorkers + ofEvents

    private static let ofSupervisor: [MetricFamily] = [
        .gauge("uptime_seconds", "Time since the start of the supervisor.") { [.seconds($0.uptimeMilliseconds)] },
        .gauge("stopping", "Whether the supervisor is at its end: 1 if so.") { [.flag($0.isStopping)] },
        .gauge("resident_memory_bytes", "Memory of the supervisor that lies in RAM.") {
            $0.residentBytes.map { [.count($0)] } ?? []
        },
        .gauge("clients", "Processes that are attached.") { [.count(UInt64($0.clients.count))] },
    ]

    /// Without a journal these metrics have no samples.
    private static let ofJournal: [MetricFamily] = [
        .gauge("journal_last_position", "Position of the journal's newest event.") {
            $0.ofJournal { .count($0.lastPosition) }
        },
        .gauge("journal_first_position", "Position of the oldest event that the journal keeps.") {
            $0.ofJournal { .count($0.firstPosition) }
        },
        .gauge("journal_unsafe_events", "Events of the journal that are not synchronized yet.") {
            $0.ofJournal { .count($0.lag) }
        },
        .gauge("journal_unsafe_seconds", "Age of the oldest event that is not synchronized yet; 0 if there is none.") {
            $0.ofJournal { .seconds($0.unsafeMilliseconds ?? 0) }
        },
        .gauge(
            "journal_owed_seconds",
            "Age of the oldest event that is owed to a worker or kept as a dead letter; 0 if there is none."
        ) { $0.ofJournal { .seconds($0.owedMilliseconds ?? 0) } },
        .gauge("journal_segments", "Files of the journal.") { $0.ofJournal { .count(UInt64(clamping: $0.segments)) } },
        .gauge("journal_bytes", "Bytes that the journal's files take.") { $0.ofJournal { .count($0.bytes) } },
        .gauge(
            "journal_failed",
            "Whether the journal takes no more events, or lacks the room for its next file: 1 if so."
        ) { $0.ofJournal { .flag($0.failure != nil) } },
    ]

    private static let ofWorkers: [MetricFamily] = [
        .gauge("worker_ready", "Whether the worker is ready: 1 if so.") {
            $0.ofEachWorker { .flag($0.state == "ready") }
        },
        .gauge("worker_uptime_seconds", "Time since the start of the worker's process; absent without one.") {
            $0.ofEachWorker { $0.uptimeMilliseconds.map { .seconds($0) } }
        },
        .gauge("worker_resident_memory_bytes", "Memory of the worker's process that lies in RAM; absent without one.") {
            $0.ofEachWorker { $0.residentBytes.map { .count($0) } }
        },
        .gauge("worker_outbox_events", "Events for the worker that it has not acknowledged.") {
            $0.ofEachWorker { .count($0.sent.waiting) }
        },
        .gauge("worker_outbox_bytes", "Bytes of its outbox that unacknowledged events take.") {
            $0.ofEachWorker { .count($0.sent.waitingBytes) }
        },
        .counter("worker_starts_total", "Starts of the worker.") {
            $0.ofEachWorker { .count(UInt64(clamping: $0.starts)) }
        },
        .counter("worker_restarts_total", "Starts of the worker that were not asked for.") {
            $0.ofEachWorker { .count(UInt64(clamping: $0.restarts)) }
        },
        .counter("worker_violations_total", "Ends of the worker for breaking the protocol or a limit.") {
            $0.ofEachWorker { .count($0.violations) }
        },
        .histogram(
            "worker_settling_seconds",
            "Time from the writing of an event until the worker has settled it, of a sample of events.",
            \.settling
        ),
    ]

    /// Counts of the events, and of their bytes, to each worker and from each worker.
    private static let ofEvents: [MetricFamily] = [
        .events("offered", "Events that were to be sent.", \.offered),
        .events("rejected", "Events that were not taken.", \.rejected),
        .events("handled", "Events whose handlers have all returned.", \.handled),
        .events("unwanted", "Events that found no handler.", \.unwanted),
        .events("unconfirmed", "Events that were sent to a worker that acknowledges nothing.", \.unconfirmed),
        .events("refused", "Events that could not be handled.", \.refused),
        .events("coalesced", "Events that a later one with the same key replaced.", \.coalesced),
        .events("dropped", "Events that an overflow policy has dropped.", \.dropped),
        .events(
            "dead_lettered",
            "Events that were given up because the worker crashed over them, or was removed.",
            \.deadLettered
        ),
        .events("lost", "Events that were accepted and are known to be gone.", \.lost),
        .counter("worker_bytes_total", "Bytes of the events that have passed, with their frames.") {
            $0.ofEachDirection { .count($0.bytes) }
        },
    ]
}

extension BridgeReport {
    /// A sample of the journal, if there is one.
    func ofJournal(_ sample: (JournalReport) -> MetricFamily.Sample) -> [MetricFamily.Sample] {
        journal.map { [sample($0)] } ?? []
    }

    /// A sample of each worker that has one.
    func ofEachWorker(_ sample: (WorkerReport) -> MetricFamily.Sample?) -> [MetricFamily.Sample] {
        workers.compactMap { worker in
            guard var sample = sample(worker) else { return nil }
            sample.labels = [("worker", worker.name)]
            return sample
        }
    }

    /// Two samples of each worker: for the events to it, and for the events from it.
    func ofEachDirection(_ sample: (EventTotals) -> MetricFamily.Sample) -> [MetricFamily.Sample] {
        workers.flatMap { worker in
            [("to", worker.sent), ("from", worker.received)].map { direction, totals in
                var sample = sample(totals)
                sample.labels = [("worker", worker.name), ("direction", direction)]
                return sample
            }
        }
    }
}
