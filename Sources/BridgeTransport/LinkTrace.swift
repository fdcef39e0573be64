import BridgeProtocol
import DomainEvents

/// The times of the events in a link's outbox, while the link is traced: how long each waits there until it leaves for
/// the peer, and how long the peer then takes to settle it.
///
/// The trace leaves out events that lay there when it began, and events beyond its bound. If the peer dies before it
/// settles an event, no `wire` span is recorded for that attempt.
struct LinkTrace {
    private struct Entry {
        let event: String
        let context: EventContext
        let attempt: Int
        /// When the event came into the queue, or straight into the outbox; after it has left for the peer: when it
        /// left.
        var start: UInt64
    }

    /// How many events are timed at once, at most: as many as a window of the default size lets out.
    private static let capacity = 4_096

    private let recorder: SpanRecorder
    private let peer: String
    /// The events that wait in the queue in front of the outbox, each with the time at which it came.
    private var queued: [EventID: UInt64] = [:]
    /// The events that are timed, by link sequence.
    private var entries: [UInt64: Entry] = [:]
    /// The events before this sequence are settled.
    private var oldest: UInt64 = .max
    private var lastLeft: UInt64 = 0

    init(recorder: SpanRecorder, peer: String) {
        self.recorder = recorder
        self.peer = peer
    }

    /// Notes steps that events have taken in the outbox, or in the queue in front of it.
    mutating func note(_ steps: [SendState.Step], at now: UInt64) {
        for step in steps {
            switch step {
            case .waits(let id): if queued.count < Self.capacity { queued[id] = now }
            case .dropped(let id): queued[id] = nil
            case .appended(let sequence, let name, let context, let attempt):
                appended(sequence, name, context, attempt: attempt, at: now)
            }
        }
    }

    private mutating func appended(
        _ sequence: UInt64,
        _ event: String,
        _ context: EventContext,
        attempt: Int,
        at now: UInt64
    ) {
        let start = queued.isEmpty ? now : queued.removeValue(forKey: context.id) ?? now
        guard entries.count < Self.capacity else { return recorder.drop(2) }
        entries[sequence] = Entry(event: event, context: context, attempt: attempt, start: start)
        oldest = min(oldest, sequence)
    }

    /// All events up to this one have left for the peer.
    mutating func left(through last: UInt64, at now: UInt64) {
        end(.outbox, max(oldest, lastLeft &+ 1), last, at: now) { entry in entry?.start = now }
        lastLeft = last
    }

    /// The peer has handled events: their spans end now.
    ///
    /// The acknowledgement may name an event that the peer itself has published. The link then settles the handled
    /// events later: when the named event has arrived, or lies in memory that outlives the peer.
    mutating func acknowledged(_ acknowledgement: CheckedAcknowledgement, at now: UInt64) {
        settle(oldest, acknowledgement.mark, at: now)
        for range in acknowledgement.ranges { settle(max(oldest, range.lowerBound), range.upperBound, at: now) }
        oldest = max(oldest, entries.isEmpty ? .max : acknowledgement.mark &+ 1)
    }

    mutating func refused(_ sequence: UInt64, at now: UInt64) {
        settle(sequence, sequence, at: now)
    }

    private mutating func settle(_ first: UInt64, _ last: UInt64, at now: UInt64) {
        // The link has checked that these events have left; `min` keeps to those that this trace has seen leave.
        end(.wire, first, min(last, lastLeft), at: now) { entry in entry = nil }
    }

    private mutating func end(
        _ stage: TracedSpan.Stage,
        _ first: UInt64,
        _ last: UInt64,
        at now: UInt64,
        _ change: (inout Entry?) -> Void
    ) {
        guard first <= last, !entries.isEmpty else { return }
        // A peer may name the same long range again and again, and few of its events may be timed.
        if last - first < UInt64(entries.count) {
            for sequence in first...last { end(stage, sequence, at: now, change) }
        } else {
            let timed = entries.keys.filter { (first...last).contains($0) }.sorted()
            for sequence in timed { end(stage, sequence, at: now, change) }
        }
    }

    private mutating func end(
        _ stage: TracedSpan.Stage,
        _ sequence: UInt64,
        at now: UInt64,
        _ change: (inout Entry?) -> Void
    ) {
        guard let entry = entries[sequence] else { return }
        recorder.note(
            SpanRecorder.Span(
                event: entry.event,
                id: entry.context.id,
                cause: entry.context.cause,
                attempt: entry.attempt,
                stage: stage,
                start: entry.start,
                end: max(entry.start, now),
                thread: nil,
                peer: peer
            )
        )
        change(&entries[sequence])
    }
}
