public import DomainEvents
import Locks

/// One reader in the process that writes the journal: other threads read the portions, and the reader's task waits.
///
/// While the task uses a portion, another thread reads the next one, unless the portion reached the end: what comes
/// after the end is read when the task asks for it. Every event is read from the files, even an event that was written
/// a moment ago. So old and new events come the same way, and no lock is held during the reading.
@usableFromInline
final class JournalReading: @unchecked Sendable {
    // Sendable: a reading belongs to one iterator, which is not `Sendable`, or to one projection's task. So one task at
    // a time uses it, and what each event needs is marked `unchecked`, without Swift's check of exclusive access.

    /// What one reading found.
    struct Portion {
        let steps: StoredSteps
        /// The position up to which every wanted event has been handed out, if these steps are included.
        let position: UInt64
        /// The last event that was read up to the position, whatever its name; nil if none was read yet.
        let last: RecordMark?
        fileprivate let isAtEnd: Bool
        /// The journal's state before the reading.
        fileprivate let state: JournalState
    }

    private let core: JournalCore
    /// Only the thread that reads a portion uses the cursor, once a reading has begun.
    private let cursor: JournalCursor
    private let follows: Bool
    /// The present portion.
    @exclusivity(unchecked) private var steps = StoredSteps()
    /// The record that was taken last; nil if none was taken from the present portion, or a gap came after it.
    @exclusivity(unchecked) private var taken: StoredRecord?
    /// The reading of the next portion, if it was begun ahead.
    private var ahead: PendingPortion?
    private var isChecked = false
    /// The journal's state before the last reading, if that reading found nothing up to the end.
    private var end: JournalState?

    /// - Parameter checksPayloads: whether the reader decodes the events, and has to check their payloads first.
    init(
        _ core: JournalCore,
        _ query: JournalQuery,
        after position: UInt64,
        follows: Bool,
        checksPayloads: Bool
    ) {
        self.core = core
        self.follows = follows
        cursor = JournalCursor(
            core.storage,
            at: core.path,
            after: position,
            filter: RecordFilter(query),
            skipsUnreadable: true,
            checksPayloads: checksPayloads
        )
    }

    /// The record that was taken last; its bytes lie in the present portion.
    var record: StoredRecord {
        guard let taken else { preconditionFailure("no record was taken from this portion") }
        return taken
    }

    /// Takes the next step of the present portion if it is a record.
    ///
    /// The record itself stays here: code in another module would copy it by calls of the Swift runtime.
    @usableFromInline
    func takeRecord() -> Bool {
        taken = steps.takeRecord()
        return taken != nil
    }

    /// Takes the next step of the present portion if it is a gap.
    @usableFromInline
    func takeGap() -> JournalGap? { steps.takeGap() }

    /// The position of the record that was taken last.
    @usableFromInline var position: UInt64 { record.position }

    /// Makes the context of the record that was taken last.
    @usableFromInline
    func makeContext() -> EventContext { steps.context(of: record) }

    /// The next step of the present portion, for a reader of records; nil if no step is left.
    @usableFromInline
    func takeStep() -> JournalStep<JournalRecord>? {
        switch steps.next() {
        case nil: nil
        case .gap(let gap): .gap(gap)
        case .record(let record): .event(steps.copy(record))
        }
    }

    /// Goes on to the next portion that has a step; called when no step is left.
    ///
    /// - Returns: False at the end, or if the task is cancelled.
    @usableFromInline
    func readOn() async throws -> Bool {
        // A reader that waits for the next event keeps no earlier ones in memory, and no room for as many.
        taken = nil
        steps = StoredSteps()
        while steps.isEmpty {
            guard let portion = try await nextPortion() else { return false }
            if portion.steps.isEmpty { continue }
            steps = portion.steps
        }
        return true
    }

    /// The next steps; nil at the end, or if the task is cancelled.
    ///
    /// A portion without steps says that no further wanted event lies up to its position. A reader that follows gets
    /// such a portion before it waits.
    func nextPortion() async throws -> Portion? {
        if let end {
            guard follows else { return nil }
            switch end.phase {
            case .open, .closing: await core.waitForMore(than: end.safe.position)
            case .closed: return nil
            case .failed(let error): throw error
            }
        }
        if Task.isCancelled { return nil }
        try checkPosition()
        if let begun = ahead {
            ahead = nil
            // A portion without steps, or an error, only says how things were at the reading, which may be long ago.
            if let portion = try? await begun.portion(), !portion.steps.isEmpty { return handOut(portion) }
        }
        return handOut(try await beginReading(isAhead: false).portion())
    }

    /// Notes whether the portion is the end, and begins to read ahead if the next portion probably has steps.
    private func handOut(_ portion: Portion) -> Portion {
        end = portion.steps.isEmpty && portion.isAtEnd ? portion.state : nil
        if !portion.steps.isEmpty, !portion.isAtEnd { ahead = beginReading(isAhead: true) }
        return portion
    }

    /// Refuses, before the first reading, a reader that is ahead of the journal.
    private func checkPosition() throws {
        if isChecked { return }
        let accepted = core.lock.withLock { core.state.accepted.position }
        // A reader may begin after an event that is not safe yet, but not beyond the last recorded event.
        guard cursor.position <= accepted else {
            throw JournalError(
                .positionAhead,
                """
                the journal \(core.path) is at position \(accepted), and its reader asks for events after position \
                \(cursor.position): one of the two is older than the other
                """
            )
        }
        isChecked = true
    }

    /// Begins to read a portion on another thread, because the file system may be slow.
    ///
    /// That thread holds all that it uses, so this reader may be released at any time.
    ///
    /// - Parameter isAhead: whether the reader's task uses the previous portion meanwhile.
    private func beginReading(isAhead: Bool) -> PendingPortion {
        let (horizon, state) = core.horizon
        let (cursor, pending) = (cursor, PendingPortion())
        StrandExecutor.anywhere.schedule {
            do throws(JournalError) {
                let steps = try cursor.read(to: horizon, isAhead: isAhead)
                let portion = Portion(
                    steps: steps,
                    position: cursor.position,
                    last: cursor.last,
                    isAtEnd: cursor.isAtEnd,
                    state: state
                )
                pending.end(.success(portion))
            } catch {
                pending.end(.failure(error))
            }
        }
        return pending
    }
}

/// A portion on its way from the thread that reads it to the task that uses it.
private final class PendingPortion: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var result: Result<JournalReading.Portion, JournalError>?
    private var waiter: CheckedContinuation<Void, Never>?

    /// Called once, when the reading has ended.
    func end(_ result: Result<JournalReading.Portion, JournalError>) {
        let waiter = lock.withLock {
            self.result = result
            return self.waiter
        }
        waiter?.resume()
    }

    /// The portion, which is handed out once; waits until it is read.
    ///
    /// - Throws: The error of the reading; another reading tries again from the same place.
    func portion() async throws -> JournalReading.Portion {
        while true {
            switch take() {
            case .success(let portion): return portion
            case .failure(let error): throw error
            case nil: await waitForEnd()
            }
        }
    }

    private func take() -> Result<JournalReading.Portion, JournalError>? {
        lock.withLock {
            defer { result = nil }
            return result
        }
    }

    /// Returns when the reading has ended.
    ///
    /// The continuation does not carry the result: the thread sanitizer would not see that the thread's work comes
    /// before what the task does next.
    private func waitForEnd() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let hasEnded = lock.withLock {
                if result == nil { waiter = continuation }
                return result != nil
            }
            if hasEnded { continuation.resume() }
        }
    }
}
