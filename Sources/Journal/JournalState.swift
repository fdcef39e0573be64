import DomainEvents

/// What a journal knows and decides, without its files: which events are taken, which are safe, and what is to be done.
struct JournalState: Sendable {
    /// A place in the journal.
    struct Mark: Sendable, Equatable {
        /// The segment.
        var number: UInt64
        /// Where the next record of the segment goes.
        var offset: Int
        /// The position of the last event before this place.
        var position: UInt64
    }

    enum Phase: Sendable {
        case open
        case closing
        case closed
        /// Closed for good: something was not written, and what the system says from now on proves nothing.
        case failed(JournalError)
    }

    /// What the journal's thread does next.
    enum Work: Sendable, Equatable {
        /// Nothing before this time on the monotonic clock, or before something changes.
        case wait(until: UInt64?)
        case makeSpare
        case synchronize
        case close
        case end
    }

    private let durability: JournalDurability
    private(set) var phase = Phase.open
    /// What was taken.
    private(set) var accepted: Mark
    /// What is as safe as was asked for.
    private(set) var safe: Mark
    /// When the first event was taken that is not safe, on the monotonic clock.
    private(set) var unsafeSince: UInt64?
    /// Up to which position callers wait.
    private var awaited: UInt64 = 0
    /// Whether the segment that follows is ready.
    private(set) var hasSpare = false
    /// Why there is no room for it; tried again when an event needs it.
    private(set) var noRoom: JournalError?
    /// Whether an event has needed it since.
    private var retries = false
    /// From when on an event may have it tried again: that writes up to a whole segment, for nothing if it fails.
    private var mayRetryAt: UInt64 = 0
    private static let pause: UInt64 = 100_000_000

    init(_ durability: JournalDurability, at mark: Mark) {
        self.durability = durability
        accepted = mark
        safe = mark
    }

    /// Whether more events may come, or become safe.
    var goesOn: Bool {
        switch phase {
        case .open, .closing: true
        case .closed, .failed: false
        }
    }

    var synchronizes: Bool { if case .machine = durability { true } else { false } }

    // MARK: - Inputs

    /// Throws why no more events are taken.
    func check(_ path: String) throws(JournalError) {
        switch phase {
        case .open: return
        case .closing, .closed: throw JournalError(.closed, "the journal \(path) was closed")
        case .failed(let error): throw error
        }
    }

    /// - Returns: Whether the event is as safe as was asked for.
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

    /// An event needs the next segment: what has failed is tried again, but not for each event.
    mutating func spareNeeded(at now: UInt64) {
        if noRoom != nil, now >= mayRetryAt { retries = true }
    }

    /// - Parameter begin: when the synchronization began; what came since is not safe, and is not older.
    mutating func synchronized(to mark: Mark, since begin: UInt64) {
        safe = mark
        unsafeSince = safe.position < accepted.position ? begin : nil
    }

    mutating func closeRequested() { if case .open = phase { phase = .closing } }

    mutating func closed() { if case .closing = phase { phase = .closed } }

    mutating func failed(_ error: JournalError) {
        if case .failed = phase { return }
        phase = .failed(error)
    }

    // MARK: - Decisions

    func work(at now: UInt64) -> Work {
        switch phase {
        case .closed, .failed: return .end
        case .closing: return safe.position < accepted.position ? .synchronize : .close
        case .open: break
        }
        if awaited > safe.position { return .synchronize }
        let due = synchronizationDue
        // Before the next segment, which takes longer.
        if let due, due <= now { return .synchronize }
        if !hasSpare, noRoom == nil || retries { return .makeSpare }
        return .wait(until: due)
    }

    /// When a group has to be synchronized for which no caller waits.
    private var synchronizationDue: UInt64? {
        guard case .machine(let limit) = durability, let unsafeSince else { return nil }
        let (due, overflow) = unsafeSince.addingReportingOverflow(limit.nanoseconds)
        return overflow ? nil : due
    }
}
