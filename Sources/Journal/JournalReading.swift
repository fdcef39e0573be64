import DomainEvents
import Locks

/// What a reader finds next; an event is not yet decoded as its type.
enum StoredStep: Sendable {
    case record(JournalRecord)
    case gap(JournalGap)
}

/// One reader in the process that writes the journal: other threads read the portions, and the reader's task waits.
///
/// Every event is read from the files, even an event that was written a moment ago. So old and new events come the same
/// way, and no lock is held during the reading.
final class JournalReading {
    /// What one reading found.
    struct Portion {
        let steps: [StoredStep]
        /// The position up to which every wanted event has been handed out, if these steps are included.
        let position: UInt64
        /// The last event that was read up to the position, whatever its name; nil if none was read yet.
        let last: RecordMark?
    }

    private let core: JournalCore
    private let cursor: JournalCursor
    private let follows: Bool
    private var rest: ArraySlice<StoredStep> = []
    private var isChecked = false
    /// The journal's state before the last reading, if that reading found nothing up to the end.
    private var end: JournalState?

    init(_ core: JournalCore, _ query: JournalQuery, after position: UInt64, follows: Bool) {
        self.core = core
        self.follows = follows
        cursor = JournalCursor(
            core.storage,
            at: core.path,
            after: position,
            filter: RecordFilter(query),
            skipsUnreadable: true
        )
    }

    func next() async throws -> StoredStep? {
        while rest.isEmpty {
            guard let portion = try await nextPortion() else { return nil }
            rest = portion.steps[...]
        }
        return rest.popFirst()
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
        let (horizon, state) = core.horizon
        // A reader may begin after an event that is not safe yet, but not beyond the last recorded event.
        if !isChecked, cursor.position > state.accepted.position {
            throw JournalError(
                .positionAhead,
                """
                the journal \(core.path) is at position \(state.accepted.position), and its reader asks for events \
                after position \(cursor.position): one of the two is older than the other
                """
            )
        }
        isChecked = true
        let steps = try await readPortion(to: horizon)
        end = steps.isEmpty && cursor.isAtEnd ? state : nil
        return Portion(steps: steps, position: cursor.position, last: cursor.last)
    }

    /// Reads a portion on another thread, as the file system may be slow.
    private func readPortion(to horizon: JournalCursor.Horizon) async throws(JournalError) -> [StoredStep] {
        let (cursor, found) = (cursor, FoundPortion())
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            StrandExecutor.anywhere.schedule {
                found.put(Result { () throws(JournalError) in try cursor.read(to: horizon) })
                continuation.resume()
            }
        }
        return try found.take().get()
    }
}

/// The result of one reading, on its way from the thread that reads to the task that waits.
///
/// The lock orders the thread's work before what the task does next. A continuation does so as well, but the thread
/// sanitizer does not see that.
private final class FoundPortion: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var result: Result<[StoredStep], JournalError> = .success([])

    func put(_ result: Result<[StoredStep], JournalError>) { lock.withLock { self.result = result } }

    func take() -> Result<[StoredStep], JournalError> { lock.withLock { result } }
}
