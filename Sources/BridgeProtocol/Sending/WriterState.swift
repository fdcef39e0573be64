/// Which thread writes to a link's stream, and when.
///
/// A thread that has something to send writes to an idle link itself. While a write is under way, or has only just
/// ended, the link is busy. Events then gather and leave together, and one thread is asked to write them in a moment. A
/// stream that takes no more is stalled until it reports that it takes more.
///
/// A thread that writes finds more to write as long as others enqueue, while its own caller waits. So after
/// ``writesInTurn`` writes it hands over to the thread that writes what gathers.
///
/// Times are in nanoseconds. Writes are timed by the wall clock: if it jumps, one event leaves a bit earlier or later.
package struct WriterState: Sendable, Hashable {
    private enum Activity: Sendable, Hashable {
        case idle
        case writing
        /// The stream takes no more, or the peer has to speak first.
        case stalled
    }

    private var activity = Activity.idle
    /// Whether a thread was asked to write what gathers.
    private var isGathering = false
    package private(set) var lastWriteEnded: UInt64 = 0
    /// When the last write of gathered events ended.
    private var lastGathered: UInt64 = 0
    /// How many writes the thread that writes has made; 0 while none writes.
    private var writes = 0

    /// For how many nanoseconds after a write the link is busy: another thread gathers what comes in that time.
    private static let busyNanoseconds: UInt64 = 2_000

    /// How many writes a thread makes before it hands over.
    ///
    /// Waking another thread costs about as much as one or two writes: with 16 writes it adds a tenth. A window (1 MiB
    /// by default) leaves in four full batches, so a thread hands over only if others enqueue during its writes, or if
    /// the stream takes little at a time.
    package static let writesInTurn = 16

    package init() {}

    /// Which thread writes what was enqueued just now.
    package enum Flush: Sendable, Hashable, BitwiseCopyable {
        /// The thread that has enqueued the event.
        case now
        /// The thread that writes what gathers; the caller wakes that thread.
        case soon
        /// A thread that is writing already, or that will write when it can.
        case byOthers
    }

    // MARK: - The stream

    /// The link has a stream; `peerSpeaksFirst` says whether nothing is written before ``streamTakesMore()``.
    package mutating func streamCame(peerSpeaksFirst: Bool) {
        if peerSpeaksFirst {
            activity = .stalled
        } else {
            streamTakesMore()
        }
    }

    /// The stream has room again, or the peer has spoken.
    package mutating func streamTakesMore() {
        if activity == .stalled { activity = .idle }
    }

    // MARK: - Flushing

    /// Whether a write has just ended, so that what comes now is gathered.
    package func isBusy(at now: UInt64) -> Bool { Self.isBusy(at: now, lastWriteEnded: lastWriteEnded) }

    /// The same for a link whose last write ended at `ended`.
    package static func isBusy(at now: UInt64, lastWriteEnded ended: UInt64) -> Bool {
        now &- ended < busyNanoseconds
    }

    /// Something was enqueued.
    ///
    /// - Parameters:
    ///   - isGathered: whether the event is left for the next batch, even if the link is idle.
    ///   - mayLeave: whether the window lets anything out; evaluated only where it matters.
    package mutating func enqueued(at now: UInt64, isGathered: Bool, mayLeave: @autoclosure () -> Bool) -> Flush {
        if activity != .idle || isGathering { return .byOthers }
        // An acknowledgement has to open the window first; the thread that reads that acknowledgement writes.
        if !mayLeave() { return .byOthers }
        if !isGathered, !isBusy(at: now) { return .now }
        isGathering = true
        return .soon
    }

    /// The thread that writes what gathers begins a write.
    package mutating func gatheredBegins() { isGathering = false }

    /// The thread that writes what gathers has ended its write.
    ///
    /// - Parameters:
    ///   - gathered: for how many nanoseconds the events had gathered; 0 if not at all.
    ///   - events: how many events left.
    ///   - isOver: whether nothing leaves any more.
    /// - Returns: After how many nanoseconds the thread writes again by itself, so that in a flood no publishing thread
    ///   has to wake it; nil if it waits to be woken.
    package mutating func gatheredLeft(after gathered: UInt64, brought events: UInt64, isOver: Bool) -> UInt64? {
        let isRepeated = lastWriteEnded &- lastGathered < GatheringTime.repeatNanoseconds
        lastGathered = lastWriteEnded
        guard !isGathering, activity != .stalled, !isOver else { return nil }
        let next = GatheringTime.gathering(after: gathered, brought: events, isRepeated: isRepeated)
        isGathering = next != nil
        return next
    }

    // MARK: - Writing

    /// Whether no thread writes.
    package var isResting: Bool { activity != .writing }

    /// A thread has something to write: if this returns true, that thread writes, and no other thread does until
    /// ``writeEnded(at:isStalled:)``.
    package mutating func begin() -> Bool {
        guard activity == .idle else { return false }
        activity = .writing
        return true
    }

    /// The thread that writes has more to write: if this returns true, it writes that; if not, it stops, and calls
    /// ``handedOver(at:)``.
    package mutating func mayWriteOn() -> Bool {
        guard writes < Self.writesInTurn else { return false }
        writes += 1
        return true
    }

    /// The thread that writes has stopped; `isStalled` says whether the stream takes no more for now.
    package mutating func writeEnded(at now: UInt64, isStalled: Bool) {
        activity = isStalled ? .stalled : .idle
        lastWriteEnded = now
        writes = 0
    }

    /// The thread that writes has stopped, though something is left: the thread that writes what gathers goes on.
    ///
    /// As long as the poller runs, what is left always has a thread that writes it. From this call on events gather,
    /// and a thread was asked to write them: by an earlier caller or, if this returns true, by this one. Only
    /// ``gatheredBegins()`` ends the gathering, and right behind that call the asked thread writes, or finds that
    /// another thread writes or that the stream is stalled. A thread that writes stops only with nothing left, with a
    /// stalled stream, or by handing over again.
    ///
    /// - Returns: Whether the caller has to wake that thread.
    package mutating func handedOver(at now: UInt64) -> Bool {
        writeEnded(at: now, isStalled: false)
        if isGathering { return false }
        isGathering = true
        return true
    }
}
