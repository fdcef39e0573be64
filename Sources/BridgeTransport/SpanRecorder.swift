import BridgePlatform
package import DomainEvents
import Locks
public import Synchronization

/// Records which part of its way an event was on, and when, while a subscriber or a peer wants to know.
///
/// A thread that has an event in hand asks ``isOn`` first, which reads memory that changes only when recording begins
/// or ends. Notes go into a buffer of bounded size; notes that find no room are counted. Any thread may use the
/// recorder, which calls no other code.
@usableFromInline
package final class SpanRecorder: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// A part of an event's way.
    package struct Span: Sendable {
        package let event: String
        package let id: EventID
        package let cause: EventID?
        package let attempt: Int
        package let stage: TracedSpan.Stage
        package let start: UInt64
        package let end: UInt64
        package let thread: UInt64?
        package let peer: String?
    }

    /// What was noted since ``take()`` was last called.
    package struct Notes: Sendable {
        package var spans: [Span] = []
        package var threads: [UInt64: String] = [:]
        package var dropped: UInt64 = 0
    }

    /// How many spans are kept at most until they are taken.
    package static let capacity = 2_000

    @usableFromInline let flag = Atomic<Bool>(false)
    private let lock = Lock()
    @exclusivity(unchecked) private var notes = Notes()

    package init() {}

    @inlinable package var isOn: Bool { flag.load(ordering: .relaxed) }

    /// Begins or ceases to note; what was noted before is forgotten.
    package func turn(on isOn: Bool) {
        lock.withLock { notes = Notes() }
        flag.store(isOn, ordering: .relaxed)
    }

    /// Notes that an event was at a stage from `start` until now.
    ///
    /// - Parameters:
    ///   - isOwn: whether the calling thread spent that time.
    ///   - peer: the peer that the event came from, or went to; nil if it was published here.
    package func note(
        _ stage: TracedSpan.Stage,
        of event: String,
        _ context: EventContext,
        from start: UInt64,
        isOwn: Bool = true,
        peer: String? = nil
    ) {
        let thread = isOwn ? CurrentThread.identifier : nil
        note(
            Span(
                event: event,
                id: context.id,
                cause: context.cause,
                attempt: context.attempt,
                stage: stage,
                start: start,
                end: max(start, MonotonicClock.now()),
                thread: thread,
                peer: peer
            )
        )
    }

    func note(_ span: Span) {
        lock.withLock {
            guard notes.spans.count < Self.capacity else {
                notes.dropped &+= 1
                return
            }
            if let thread = span.thread, notes.threads[thread] == nil { notes.threads[thread] = CurrentThread.name }
            notes.spans.append(span)
        }
    }

    /// Counts spans that a caller of the recorder had no room for.
    package func drop(_ count: Int) {
        lock.withLock { notes.dropped &+= UInt64(count) }
    }

    /// Returns what was noted, and begins anew.
    package func take() -> Notes {
        lock.withLock {
            defer { notes = Notes() }
            return notes
        }
    }
}
