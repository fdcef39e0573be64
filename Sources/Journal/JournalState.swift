import DomainEvents
import JournalFormat

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

        /// Whether all events and notes before `other` lie before this place, too.
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
    private(set) var phase = Phase.open {
        didSet { if case .open = phase { takesEvents = true } else { takesEvents = false } }
    }
    /// Whether events are accepted, which is while the phase is `open`.
    private(set) var takesEvents = true
    /// Whether the recordings are about to end, or have ended.
    private var isRetired = false
    /// The end of the accepted events.
    private(set) var accepted: Mark
    /// The end of the events that are as safe as the durability promises.
    private(set) var safe: Mark
    /// Since when, on the monotonic clock, events that are not safe may have waited; nil if all are safe.
    private(set) var unsafeSince: UInt64?
    /// Since when, on the monotonic clock, notes that are not safe may have waited; nil if all are safe.
    private var unsafeNotesSince: UInt64?
    /// How many nanoseconds notes wait at least for a synchronization of their own: a lost note costs no event.
    private static let patience: UInt64 = 1_000_000_000
    /// Whether notes wait for the next segment, or for room in the file system.
    var notesWait = false
    /// Whether the end record may be there already.
    private var isEnding = false
    /// The highest position for which a caller waits.
    private var awaited: UInt64 = 0
    /// Whether the next segment is ready.
    private(set) var hasSpare = false
    /// Why the next segment could not be made; nil if it was made, or was not tried yet.
    private(set) var noRoom: JournalError?
    /// Whether to repeat a failed try to make the next segment, because a record needs the segment.
    private var retries = false
    /// The time of the last failed try; a try may write almost a whole segment in vain, so there are pauses.
    private var failedAt: UInt64 = 0
    /// How many nanoseconds pass at least between a failed try and another one for a record that needs the segment.
    private static let pause: UInt64 = 100_000_000
    /// How many nanoseconds pass until another try if no record needs the segment yet; this try may make the segment
    /// before a record needs it.
    private static let longPause: UInt64 = 5_000_000_000
    /// Whether the last work was a synchronization; if so, the next segment does not wait for another synchronization.
    private var hasJustSynchronized = false

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

    /// Whether no host may count on the journal any more: its recordings are about to end, or it accepts no event.
    var isOver: Bool { isRetired || !takesEvents }

    /// Whether notes may still be written: in the phase `closing`, too, until the end record is about to be written.
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

    /// Why the journal takes no more events, or why its last try to make the next segment failed; nil if neither is so.
    func failure(_ path: String) -> JournalError? {
        do throws(JournalError) {
            try check(path)
            return noRoom
        } catch {
            return error
        }
    }

    /// Called when an event was written, up to this offset of the segment.
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

    /// Called when a note was written, up to this offset of the segment; the note becomes safe with the events around
    /// it, or by a synchronization of its own.
    ///
    /// - Returns: Whether this note sets the time of such a synchronization; the caller then has to wake the thread.
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
        hasJustSynchronized = false
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
        failedAt = now
        hasJustSynchronized = false
    }

    /// When to try again to make the next segment though no record needs it; nil if the last try has not failed.
    private var retryAt: UInt64? { noRoom == nil ? nil : failedAt.saturatingSum(Self.longPause) }

    /// Called when a record needs the next segment; a failed try to make it is repeated, but not for every record.
    mutating func spareNeeded(at now: UInt64) {
        if case .open = phase, noRoom != nil, now >= failedAt.saturatingSum(Self.pause) { retries = true }
    }

    /// Called when all events and notes up to `mark` were synchronized.
    ///
    /// - Parameter begin: when the synchronization began. What lies behind `mark` was written later, and is not safe.
    mutating func synchronized(to mark: Mark, since begin: UInt64) {
        safe = mark
        hasJustSynchronized = true
        unsafeSince = safe.position < accepted.position ? begin : nil
        unsafeNotesSince = safe.notes < accepted.notes ? begin : nil
    }

    /// Called when the journal's recordings are about to end; their events are accepted until then.
    mutating func retired() { isRetired = true }

    /// Called to close the journal; if notes wait for the next segment, a failed try to make it is repeated.
    mutating func closeRequested() {
        guard case .open = phase else { return }
        phase = .closing
        retries = notesWait
    }

    /// Called when the end record is about to be written; no note may follow.
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
        let due = synchronizationDue
        let lacksSpare = !hasSpare && (noRoom == nil || retries || retryAt.map { $0 <= now } ?? false)
        // A synchronization comes before the making of a segment, which takes longer. But if synchronizations are
        // always due, the segment is made between two of them, before events wait for it.
        let synchronizes = awaited > safe.position || due.map { $0 <= now } ?? false
        if synchronizes, !(lacksSpare && hasJustSynchronized) { return .synchronize }
        if lacksSpare { return .makeSpare }
        return .wait(until: [due, hasSpare ? nil : retryAt].compactMap(\.self).min())
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
