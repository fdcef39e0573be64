import BridgePlatform
import BridgeTransport
package import DomainEvents
import Locks

/// Publishes the spans of events in batches, from time to time, while a subscriber or a peer wants them.
///
/// The reporter publishes on the thread of the reports, so a thread that notes a span does not wait.
final class TraceReporter: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    let recorder = SpanRecorder()
    private let process: String
    private let publisher: EventPublisher
    private let reports: ReportStrand
    private let poller: Poller

    private let lock = Lock()
    /// The topic of `EventsTraced`, while a subscriber or a peer wants its events.
    private var topic: Topic?
    private var hasTimer = false
    /// Whether a report of spans waits in the strand of the reports; it will include all spans up to its turn.
    private var isQueued = false
    /// The source under which other processes know this process's events; nil if it is the publisher's own.
    private var knownSource: EventSource?

    /// For how many nanoseconds spans are gathered.
    private static let interval: UInt64 = 20_000_000

    init(process: String, publisher: EventPublisher, reports: ReportStrand, poller: Poller) {
        self.process = process
        self.publisher = publisher
        self.reports = reports
        self.poller = poller
    }

    /// Whether a subscriber or a peer wants the spans.
    var isOn: Bool { recorder.isOn }

    /// The time now, if a subscriber or a peer wants the spans of the topic's events; otherwise 0.
    func start(of topic: Topic) -> UInt64 { recorder.isOn && !topic.isTrace ? MonotonicClock.now() : 0 }

    /// Starts or stops noting spans; ``startTimer()`` has to follow.
    ///
    /// - Parameter wanted: the topic of `EventsTraced`; nil to stop.
    func turn(on wanted: Topic?) {
        lock.withLock { topic = wanted }
        recorder.turn(on: wanted != nil)
    }

    /// Begins to publish, if spans are wanted and the timer does not run yet.
    func startTimer() {
        let starts = lock.withLock {
            guard topic != nil, !hasTimer else { return false }
            hasTimer = true
            return true
        }
        if starts { schedule() }
    }

    private func schedule() {
        poller.schedule(after: Self.interval) { [self] in
            let topic = lock.withLock {
                hasTimer = self.topic != nil
                return self.topic
            }
            guard let topic else { return }
            putInStrand(topic)
            schedule()
        }
    }

    private func putInStrand(_ topic: Topic) {
        let isFirst = lock.withLock {
            defer { isQueued = true }
            return !isQueued
        }
        guard isFirst else { return }
        reports.perform { [self] in
            lock.withLock { isQueued = false }
            report(to: topic)
        }
    }

    private func report(to topic: Topic) {
        let notes = recorder.take()
        guard !notes.spans.isEmpty || notes.dropped > 0 else { return }
        // The first event says how many spans are missing before it.
        var dropped = notes.dropped
        var rest = notes.spans[...]
        repeat {
            let spans = rest.prefix(EventsTraced.maximumSpans)
            rest = rest.dropFirst(spans.count)
            guard topic.hasRoom else {
                recorder.drop(spans.count + Int(clamping: dropped))
                dropped = 0
                continue
            }
            let threads = Set(spans.compactMap(\.thread)).sorted()
            publisher.publish(
                EventsTraced(
                    process: process,
                    pid: CurrentProcess.identifier,
                    spans: spelled(spans),
                    threads: threads.map { TracedThread(id: $0, name: notes.threads[$0] ?? "") },
                    dropped: dropped
                )
            )
            dropped = 0
        } while !rest.isEmpty
    }

    /// Called when other processes know this process's events by this source.
    func othersKnow(_ source: EventSource) {
        lock.withLock { knownSource = source }
    }

    /// The spans, with the identities by which other processes know the events.
    private func spelled(_ spans: ArraySlice<SpanRecorder.Span>) -> [TracedSpan] {
        let (own, known) = (publisher.source, lock.withLock { knownSource })
        func spelled(_ id: EventID) -> String {
            guard let known, id.source == own else { return id.description }
            return EventID(source: known, number: id.number).description
        }
        return spans.map { span in
            TracedSpan(
                event: span.event,
                id: spelled(span.id),
                cause: span.cause.map(spelled),
                attempt: span.attempt,
                stage: span.stage,
                start: span.start,
                duration: span.end - span.start,
                thread: span.thread,
                peer: span.peer
            )
        }
    }

    // MARK: - Handlers that return later

    /// Notes the handling of an event when its completion is called.
    func noting(
        _ completion: any HandlingCompletion,
        of event: String,
        _ context: EventContext,
        from start: UInt64,
        peer: String
    ) -> any HandlingCompletion {
        NotedCompletion(completion, event: event, context: context, start: start, peer: peer, recorder: recorder)
    }

    private final class NotedCompletion: HandlingCompletion {
        private let completion: any HandlingCompletion
        private let event: String
        private let context: EventContext
        private let start: UInt64
        private let peer: String
        private let recorder: SpanRecorder

        init(
            _ completion: any HandlingCompletion,
            event: String,
            context: EventContext,
            start: UInt64,
            peer: String,
            recorder: SpanRecorder
        ) {
            self.completion = completion
            self.event = event
            self.context = context
            self.start = start
            self.peer = peer
            self.recorder = recorder
        }

        func handlersThrew(_ failure: ThrownError) { completion.handlersThrew(failure) }

        func handlersReturned(failure: ThrownError?) {
            // The span is noted before the sender can learn that the event was handled.
            recorder.note(.handling, of: event, context, from: start, isOwn: false, peer: peer)
            completion.handlersReturned(failure: failure)
        }
    }
}

extension EventRouter {
    /// Lets the trace spell this process's events with `source`, as other processes know them.
    package func othersKnowEvents(as source: EventSource) { trace.othersKnow(source) }

    /// Turns tracing on or off, depending on whether a subscriber or a peer wants it.
    ///
    /// The caller holds `lock`.
    func updateTrace(_ topic: Topic) {
        let fanout = topic.fanout
        let isWanted = publisher.isWanted(topic.name) || !fanout.targets.isEmpty || !fanout.attached.isEmpty
        guard isWanted != trace.isOn else { return }
        trace.turn(on: isWanted ? topic : nil)
        for peer in peers { peer.setTrace(isWanted ? trace.recorder : nil) }
    }
}
