import BridgeProtocol
import CBOR
public import DomainEvents
import Locks

/// The events of one type in a journal, for `for try await`: first the recorded events, then new events as they come.
///
/// The sequence ends when the journal is closed or the task is cancelled. Without `follows`, it ends after the newest
/// event. If a failure has closed the journal, a sequence with `follows` throws the error after the last safe event.
public struct JournalEvents<E: DomainEvent>: AsyncSequence, Sendable {
    /// Events and the places where some are missing.
    public typealias Element = JournalStep<JournalEntry<E>>

    let core: JournalCore
    let query: JournalQuery
    let position: UInt64
    let follows: Bool

    /// Makes a reader that is independent of the others.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reading: JournalReading(core, query, after: position, follows: follows))
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let reading: JournalReading
        private let coder = PayloadCoder<E>()
        private let decoder = CBORDecoder()

        init(reading: JournalReading) {
            self.reading = reading
        }

        /// The next event, or the place where some are missing; nil at the end.
        /// - Throws: ``JournalError`` if the journal cannot be read any further, or a failure has closed it.
        public mutating func next() async throws -> Element? {
            switch try await reading.next() {
            case nil: nil
            case .gap(let gap): .gap(gap)
            case .record(let record): decoded(record)
            }
        }

        private func decoded(_ record: JournalRecord) -> Element {
            do {
                let event = try record.payload.withUnsafeBytes { try coder.decode($0, with: decoder) }
                try event.validate()
                return .event(JournalEntry(position: record.position, event: event, context: record.context))
            } catch {
                let why = (error as? CBORError).map(CBORError.sentence) ?? "\(error)"
                return .gap(JournalGap(at: record.position, .undecodable(why: why)))
            }
        }
    }
}

/// The events of a journal in CBOR, for `for try await`; otherwise like ``JournalEvents``.
public struct JournalRecords: AsyncSequence, Sendable {
    /// Events and the places where some are missing.
    public typealias Element = JournalStep<JournalRecord>

    let core: JournalCore
    let query: JournalQuery
    let position: UInt64
    let follows: Bool

    /// Makes a reader that is independent of the others.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reading: JournalReading(core, query, after: position, follows: follows))
    }

    /// Takes the events one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let reading: JournalReading

        init(reading: JournalReading) {
            self.reading = reading
        }

        /// The next event, or the place where some are missing; nil at the end.
        /// - Throws: ``JournalError`` if the journal cannot be read any further, or a failure has closed it.
        public mutating func next() async throws -> Element? {
            switch try await reading.next() {
            case nil: nil
            case .gap(let gap): .gap(gap)
            case .record(let record): .event(record)
            }
        }
    }
}

/// One reader in the process that writes the journal: other threads read the portions, and the reader's task waits.
///
/// Every event is read from the files, even an event that was written a moment ago. So old and new events come the same
/// way, and no lock is held during the reading.
final class JournalReading {
    private let core: JournalCore
    private let cursor: JournalCursor
    private let follows: Bool
    private var portion: ArraySlice<StoredStep> = []
    private var isChecked = false

    init(_ core: JournalCore, _ query: JournalQuery, after position: UInt64, follows: Bool) {
        self.core = core
        self.follows = follows
        cursor = JournalCursor(core.storage, at: core.path, after: position, filter: RecordFilter(query))
    }

    func next() async throws -> StoredStep? {
        while portion.isEmpty {
            if Task.isCancelled { return nil }
            let (horizon, state) = core.horizon
            // A reader may wait for recorded events to become safe, but may not begin at a position without an event.
            if !isChecked, cursor.position > state.accepted.position {
                throw JournalError(
                    .positionAhead,
                    """
                    the journal \(core.path) has come to position \(state.accepted.position), and its reader asks for \
                    what follows position \(cursor.position): one of the two is older than the other
                    """
                )
            }
            isChecked = true
            portion = try await readPortion(to: horizon)[...]
            if !portion.isEmpty { break }
            if !cursor.isAtEnd { continue }
            guard follows else { return nil }
            switch state.phase {
            case .open, .closing: await core.waitForMore(than: state.safe.position)
            case .closed: return nil
            case .failed(let error): throw error
            }
        }
        return portion.popFirst()
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
