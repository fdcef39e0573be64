import DomainEvents

/// The state of a journal, without its files: which events are accepted, which are safe, and what to do next.
struct JournalState: Sendable {
    /// A place in the journal.
    struct Mark: Sendable, Equatable {
        /// The segment.
        var number: UInt64
        /// The offset of the segment's next record.
        var offset: Int
        /// The position of the last event before this place.
        var position: UInt64
        /// How many notes this process has written before this place.
        var notes: UInt64 = 0

        /// Whether everything before `other` lies before this place.
        func isBehindAll(before other: Mark) -> Bool { position >= other.position && notes >= other.notes }
    }

    enum Phase: Sendable {
        case open
        case closing
        case closed
        /// Closed for good: a write or synchronization failed, so later successes no longer prove that events are safe.
        case failed(JournalError)
    }

    /// What the journal's thread does next.
    enum Work: Sendable, Equatable {
        /// To wait until this time on the monotonic clock, or until something changes; nil for no such time.
        case wait(until: UInt64?)
        case makeSpare
        case synchronize
        case close
        case end
    }

    private let durability: JournalDurability
    private(set) var phase = Phase.open
    /// The end of the accepted events.
    private(set) var accepted: Mark
    /// The end of the events that are as safe as the durability promises.
    private(set) var safe: Mark
    /// The earliest time at which an event that is not safe was accepted, on the monotonic clock; nil if all are safe.
    private(set) var unsafeSince: UInt64?
    /// The earliest time at which a note that is not safe was written, on the monotonic clock; nil if all are safe.
    private var unsafeNotesSince: UInt64?
    /// How long notes wait at least for a synchronization of their own: a lost note only makes an event come again.
    private static let patience: UInt64 = 1_000_000_000
    /// Whether notes wait for the next segment.
    var notesWait = false
    /// Whether the end record may be there already.
    private var isEnding = false
    /// The highest position for which a caller waits.
    private var awaited: UInt64 = 0
    /// Whether the next segment is ready.
    private(set) var hasSpare = false
    /// Why the next segment could not be made; nil if it was made, or was not tried yet.
    private(set) var noRoom: JournalError?
    /// Whether a record that needs the segment has asked for another try after the last one failed.
    private var retries = false
    /// The earliest time for another try: each failed try may write almost a whole segment for nothing.
    private var mayRetryAt: UInt64 = 0
    private static let pause: UInt64 = 100_000_000

    init(_ durability: JournalDurability, at mark: Mark) {
        self.durability = durability
        accepted = mark
        safe = mark
    }

    /// Whether further events may be accepted or become safe.
    var goesOn: Bool {
        switch phase {
        case .open, .closing: true
        case .closed, .failed: false
        }
    }

    /// Whether notes may still be written: also while the journal is closed, as long as the end is not written.
    var takesNotes: Bool { goesOn && !isEnding }

    var synchronizes: Bool { if case .machine = durability { true } else { false } }

    // MARK: - Inputs

    /// Throws the reason if the journal accepts no more events.
    func check(_ path: String) throws(JournalError) {
        switch phase {
        case .open: return
        case .closing, .closed: throw JournalError(.closed, "the journal \(path) was closed")
        case .failed(let error): throw error
        }
    }

    /// Why no event can be recorded now; nil if nothing is known to be in the way.
    func failure(_ path: String) -> JournalError? {
        do throws(JournalError) {
            try check(path)
            return noRoom
        } catch {
            return error
        }
    }

    /// Notes that an event was written, up to this offset of the segment.
    ///
    /// - Returns: Whether the event is as safe as the durability promises.
    mutating func eventWritten(end offset: Int, isAwaited: Bool, at now: () -> UInt64) -> Bool {
        accepted.offset = offset
        accepted.position += 1
        guard case .machine = durability else {
            safe = accepted
            return true
        }
        if unsafeSince == nil { unsafeSince = now() }
        if isAwaited { awaited = accepted.position }
        return false
    }

    /// Notes that a note was written, up to this offset of the segment; it becomes safe with the events around it, or
    /// by a synchronization of its own.
    ///
    /// - Returns: Whether this note sets the time of such a synchronization; the thread then has to be woken.
    mutating func noteWritten(end offset: Int, at now: () -> UInt64) -> Bool {
        accepted.offset = offset
        accepted.notes += 1
        guard synchronizes else {
            safe = accepted
            return false
        }
        guard unsafeNotesSince == nil else { return false }
        unsafeNotesSince = now()
        return true
    }

    mutating func callerWaits() { awaited = max(awaited, accepted.position) }

    mutating func segmentBegun(_ number: UInt64, offset: Int) {
        accepted.number = number
        accepted.offset = offset
        hasSpare = false
        if !synchronizes { safe = accepted }
    }

    mutating func spareMade() {
        hasSpare = true
        noRoom = nil
        retries = false
    }

    mutating func spareNotMade(_ error: JournalError, at now: UInt64) {
        noRoom = error
        retries = false
        mayRetryAt = now.addingReportingOverflow(Self.pause).partialValue
    }

    /// Notes that a record needs the next segment: a failed try is repeated, but not for every record.
    mutating func spareNeeded(at now: UInt64) {
        if case .open = phase, noRoom != nil, now >= mayRetryAt { retries = true }
    }

    /// Notes that all events up to `mark` were synchronized.
    ///
    /// - Parameter begin: when the synchronization began; events after `mark` came later and are not safe yet.
    mutating func synchronized(to mark: Mark, since begin: UInt64) {
        safe = mark
        unsafeSince = safe.position < accepted.position ? begin : nil
        unsafeNotesSince = safe.notes < accepted.notes ? begin : nil
    }

    /// The journal is to be closed; if notes wait for the next segment, its room is looked for once more.
    mutating func closeRequested() {
        guard case .open = phase else { return }
        phase = .closing
        retries = notesWait
    }

    /// The end record is about to be written, so no note may follow.
    mutating func endBegun() { isEnding = true }

    mutating func closed() { if case .closing = phase { phase = .closed } }

    mutating func failed(_ error: JournalError) {
        if case .failed = phase { return }
        phase = .failed(error)
    }

    // MARK: - Decisions

    func work(at now: UInt64) -> Work {
        switch phase {
        case .closed, .failed: return .end
        case .closing:
            if notesWait, !hasSpare, noRoom == nil || retries { return .makeSpare }
            return safe.isBehindAll(before: accepted) ? .close : .synchronize
        case .open: break
        }
        if awaited > safe.position { return .synchronize }
        let due = synchronizationDue
        // A due synchronization comes before the next segment, which takes longer.
        if let due, due <= now { return .synchronize }
        if !hasSpare, noRoom == nil || retries { return .makeSpare }
        return .wait(until: due)
    }

    /// When to synchronize what is not safe, if no caller waits for it; nil if no synchronization is due.
    private var synchronizationDue: UInt64? {
        guard case .machine(let limit) = durability else { return nil }
        func due(_ since: UInt64?, after delay: UInt64) -> UInt64 {
            guard let (due, overflow) = since?.addingReportingOverflow(delay), !overflow else { return .max }
            return due
        }
        let first = min(
            due(unsafeSince, after: limit.nanoseconds),
            due(unsafeNotesSince, after: max(limit.nanoseconds, Self.patience))
        )
        return first < .max ? first : nil
    }
}
