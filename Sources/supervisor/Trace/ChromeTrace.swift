import BridgePlatform
import DomainEvents
import JSONText

/// A recorded trace in the JSON of Chrome's trace viewer, which Perfetto reads: an object with `traceEvents`.
///
/// Work on a thread is a complete event (`X`) of that thread. The events of a thread must not overlap, but waits in an
/// outbox, on the wire or for asynchronous handlers may. So each of these waits is a pair of `b` and `e`.
/// Flows (`s`, `f`) lead from the publishing of an event to its receivers, and from a cause to its effect. Times are in
/// microseconds from the beginning of the first span.
struct ChromeTrace {
    private let trace: RecordedTrace
    private let origin: UInt64
    /// The approximate size of a piece of the text, in bytes.
    private static let chunkBytes = 64 << 10

    init(_ trace: RecordedTrace) {
        self.trace = trace
        origin = trace.spans.map(\.span.start).min() ?? 0
    }

    /// Hands out the text piece by piece.
    func write(to output: ([UInt8]) throws(SystemFileError) -> Void) throws(SystemFileError) {
        var text = TraceText([
            ("clock", "CLOCK_MONOTONIC"), ("startNanoseconds", "\(origin)"), ("droppedSpans", "\(trace.dropped)"),
            ("missedBatches", "\(trace.missedBatches)"),
        ])
        func append(_ entry: TraceEntry) throws(SystemFileError) {
            text.append(entry)
            if text.count >= Self.chunkBytes { try output(text.take()) }
        }
        for entry in names { try append(entry) }
        // If spans begin together, the longer one encloses the other and comes first.
        let ordered = trace.spans.indices.sorted { left, right in
            let (left, right) = (trace.spans[left].span, trace.spans[right].span)
            return (left.start, right.duration) < (right.start, left.duration)
        }
        for index in ordered { for entry in entries(of: index) { try append(entry) } }
        for (number, flow) in TraceFlow.all(in: trace).enumerated() {
            for entry in entries(of: flow, number: number + 1) { try append(entry) }
        }
        text.end()
        try output(text.take())
    }

    // MARK: - Entries

    private var names: [TraceEntry] {
        var found: [TraceEntry] = []
        for (index, process) in trace.processes.enumerated() {
            found += TraceEntry.names(ofProcess: process.pid, process.name, at: index)
        }
        for (thread, text) in trace.threads.sorted(by: { $0.key.id < $1.key.id }) {
            found.append(TraceEntry.name(ofThread: thread.id, of: thread.process.pid, text))
        }
        return found
    }

    private func entries(of index: Int) -> [TraceEntry] {
        let (process, span) = trace.spans[index]
        var entry = TraceEntry("\(span.stage.rawValue) \(span.event)", "X", process: process.pid)
        entry.category = span.stage.rawValue
        entry.time = span.start - origin
        entry.arguments = [("event", .text(span.event)), ("id", .text(span.id))]
        if let cause = span.cause { entry.arguments.append(("cause", .text(cause))) }
        if let peer = span.peer { entry.arguments.append((span.isOutward ? "to" : "from", .text(peer))) }
        if span.attempt != 1 { entry.arguments.append(("attempt", .text(String(span.attempt)))) }
        guard span.thread == nil else {
            entry.thread = span.thread
            entry.duration = span.duration
            return [entry]
        }
        entry.phase = "b"
        entry.identifier = "\(index)"
        var end = entry
        end.phase = "e"
        end.arguments = []
        // The sum cannot overflow: the event's `validate()` has checked the end of each span.
        end.time = span.start - origin + span.duration
        return [entry, end]
    }

    private func entries(of flow: TraceFlow, number: Int) -> [TraceEntry] {
        [(flow.from, "s"), (flow.to, "f")].map { index, phase in
            let (process, span) = trace.spans[index]
            var entry = TraceEntry(flow.kind.rawValue, phase, process: process.pid)
            entry.category = "flow"
            entry.identifier = "\(number)"
            entry.thread = span.thread
            entry.time = span.start - origin
            // Without this flag the arrow would end at the next slice that begins.
            entry.bindsToEnclosing = phase == "f"
            return entry
        }
    }
}

extension TracedSpan {
    /// Whether the span's peer is a receiver.
    fileprivate var isOutward: Bool { stage == .outbox || stage == .wire }
}
