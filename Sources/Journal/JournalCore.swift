import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Synchronization

/// Owns a journal's files: accepts events under its lock, and leaves slow work to one thread.
final class JournalCore: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic.
    let path: String
    let storage: any JournalStorage
    let settings: Settings
    let identity: UInt64
    /// Keeps other processes from writing in the directory until the thread has ended.
    var directoryLock: LockFile?

    let lock = Lock()
    /// Signalled when there may be work for the thread.
    let work: Condition
    /// Signalled when the next segment is ready, or cannot be made.
    let spareDecided: Condition
    var state: JournalState
    var catalog: SegmentCatalog
    var writer: SegmentWriter
    var spare: SegmentWriter?
    /// The last bookmark of each worker, up to the last accepted event.
    var bookmarks: BookmarkTable
    /// What is owed to whom, up to the last accepted event and note, including notes that are not written yet.
    var custody: CustodyLedger
    /// The notes that wait for the next segment.
    var unwritten = WaitingNotes()
    /// The segments whose records are not all safe, except the segment that is being written.
    var unsynchronized: [any JournalFile] = []
    /// The thread calls the bodies when there may be no segment, so no body may record an event: it would wait for the
    /// thread.
    var waiters: [(position: UInt64, body: @Sendable ((any Error)?) -> Void)] = []
    var hasEnded = false
    /// Called when the thread has ended.
    var closers: [@Sendable () -> Void] = []
    private var readers: [(ticket: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    private var tickets: UInt64 = 0
    private var cancelled: Set<UInt64> = []
    /// Whether the next segment is still to be made; recording threads read this without the lock.
    let lacksSpare = Atomic<Bool>(true)
    /// Whether readers wait; recording threads read this without the lock.
    private let hasReaders = Atomic<Bool>(false)

    struct Settings: Sendable {
        var durability = JournalDurability.process
        var retention = JournalRetention.everything
        var whenFull = JournalFullPolicy.refuse
        var segmentBytes = 16 << 20
    }

    /// Continues the journal after the events that its directory holds.
    init(
        _ opening: JournalOpening,
        storage: any JournalStorage,
        path: String,
        lock directoryLock: LockFile?,
        settings: Settings
    ) throws(JournalError) {
        self.path = path
        self.storage = storage
        self.settings = settings
        self.directoryLock = directoryLock
        identity = opening.journal
        work = Condition(lock: lock)
        spareDecided = Condition(lock: lock)
        bookmarks = opening.bookmarks
        guard Self.hasRoom(for: bookmarks, settings) else {
            throw JournalError(
                .unsuitableDirectory,
                """
                the journal \(path) has bookmarks of up to \(bookmarks.longestStride()) bytes, for which segments of \
                \(settings.segmentBytes) bytes are too small
                """
            )
        }
        var catalog = opening.catalog
        var custody = opening.custody
        writer = try Self.first(&catalog, &custody, storage, at: path, settings, opening)
        self.custody = custody
        self.catalog = catalog
        let mark = JournalState.Mark(number: opening.nextNumber, offset: writer.offset, position: opening.lastPosition)
        state = JournalState(settings.durability, at: mark)
    }

    /// Starts the thread, which lives until the journal is closed.
    func start() throws(JournalError) {
        do throws(SystemError) {
            try PlatformThread.start(name: "journal") { self.run() }
        } catch {
            throw JournalError(error, at: path)
        }
    }

    // MARK: - Recording

    /// Waits for the next segment if a payload of this length will need it, so that ``append`` seldom has to wait.
    func makeRoom(forPayload byteCount: Int) {
        guard lacksSpare.load(ordering: .relaxed) else { return }
        lock.withLock {
            // A record seldom has more than 1,024 bytes besides its payload.
            let stride = byteCount + 1_024
            while case .open = state.phase, spare == nil, state.noRoom == nil, !writer.hasRoom(forStride: stride) {
                work.signal()
                spareDecided.wait()
            }
        }
    }

    /// Writes an event.
    ///
    /// - Returns: Whether the event is safe already; if not, `whenSettled` is called when the event is safe, or cannot
    ///   become safe.
    func append(
        _ payload: [UInt8],
        name: String,
        context: EventContext,
        owed: [OwedReceiver] = [],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws(JournalError) -> Bool {
        try lock.withLock { () throws(JournalError) in
            while true {
                try state.check(path)
                let position = state.accepted.position + 1
                let record = try makeRecord(position, name, context, owed, payload.count)
                // Once the next head is stored, an event in this segment would lie behind the end that the head names.
                guard spare?.head == nil, writer.hasRoom(forStride: record.stride) else {
                    try enterNextSegment()
                    continue
                }
                let written = payload.withUnsafeBytes { bytes in
                    Result { () throws(SystemError) in try writer.append(record, bytes) }
                }
                if case .failure(let error) = written { throw noRoom(error) ?? fail(error) }
                if let bookmark = context.bookmark {
                    bookmarks.note(bookmark.bookmark.bytes, of: bookmark.worker, at: position)
                }
                if !owed.isEmpty {
                    custody.recorded(
                        context.id,
                        at: position,
                        published: context.nanosecondsSinceEpoch,
                        owedTo: owed
                    )
                }
                let isSafe = state.eventWritten(
                    end: writer.offset,
                    isAwaited: whenSettled != nil,
                    at: MonotonicClock.now
                )
                if isSafe { return true }
                if let whenSettled { waiters.append((position, whenSettled)) }
                work.signal()
                return false
            }
        }
    }

    private func makeRecord(
        _ position: UInt64,
        _ name: String,
        _ context: EventContext,
        _ owed: [OwedReceiver],
        _ payloadBytes: Int
    ) throws(JournalError) -> EventRecord {
        let mistake: String
        do throws(EventRecord.Mistake) {
            try check(context.bookmark)
            let record = try EventRecord(
                position: position,
                name: name,
                context: context,
                owed: owed,
                payloadBytes: payloadBytes
            )
            // The next segment begins with the bookmarks.
            let longest =
                SegmentWriter.longestStride(inSegmentOf: settings.segmentBytes)
                - bookmarks.longestStride(with: context.bookmark?.worker)
            if record.stride <= longest { return record }
            mistake = "it takes \(record.stride) bytes; a segment has room for \(longest)"
        } catch {
            mistake = error.text
        }
        throw JournalError(.notRecordable, "\(name) \(context.id) is not in the journal \(path): \(mistake)")
    }

    /// Switches to the segment that was made ahead, or waits until it is made; called with the lock held.
    func enterNextSegment() throws(JournalError) {
        guard let spare else {
            if let noRoom = state.noRoom {
                // This event is refused, but the thread tries again to make the segment for later events.
                state.spareNeeded(at: MonotonicClock.now())
                work.signal()
                throw noRoom
            }
            work.signal()
            spareDecided.wait()
            return
        }
        let number = state.accepted.number + 1
        let head = SegmentHead(
            journal: identity,
            number: number,
            segmentBytes: settings.segmentBytes,
            firstPosition: state.accepted.position + 1,
            begunAt: WallClock.now(),
            previousEnd: state.accepted.offset,
            bookmarkBytes: bookmarks.recordBytes,
            isBegunSafe: state.safe.isBehindAll(before: state.accepted),
            owedFrom: custody.lowestPosition ?? 0
        )
        do throws(SystemError) {
            try spare.begin(head, bookmarks)
        } catch {
            throw noRoom(error) ?? fail(error)
        }
        if state.synchronizes { unsynchronized.append(writer.file) }
        writer = spare
        self.spare = nil
        lacksSpare.store(true, ordering: .relaxed)
        catalog.append(.init(number: number, reading: .head(head), byteCount: settings.segmentBytes))
        state.segmentBegun(number, offset: spare.offset)
        work.signal()
    }

    /// The error of a write that found no room and so did no harm; nil for any other error.
    func noRoom(_ error: SystemError) -> JournalError? {
        error.isFullDisk ? JournalError(error, at: path) : nil
    }

    /// Closes the journal for good; called with the lock held.
    func fail(_ error: SystemError) -> JournalError {
        let failure = JournalError(
            .system,
            "the journal \(path) is closed for good, as nothing proves any more what is safe: \(error)"
        )
        state.failed(failure)
        work.signal()
        spareDecided.broadcast()
        return failure
    }

    // MARK: - Waiting

    /// Calls `body` when all events that were accepted so far are safe, or cannot become safe.
    func whenSafe(_ body: @escaping @Sendable ((any Error)?) -> Void) {
        let result: Result<Bool, JournalError> = lock.withLock {
            if state.safe.position >= state.accepted.position { return .success(true) }
            if case .failed(let error) = state.phase { return .failure(error) }
            state.callerWaits()
            waiters.append((state.accepted.position, body))
            work.signal()
            return .success(false)
        }
        switch result {
        case .success(true): body(nil)
        case .success(false): break
        case .failure(let error): body(error)
        }
    }

    /// How far readers may read, which is up to the last safe event, and the journal's state at the same moment.
    var horizon: (JournalCursor.Horizon, JournalState) {
        lock.withLock {
            var visible = catalog
            while let last = visible.segments.last, last.number > state.safe.number { visible.removeLast() }
            return (.init(catalog: visible, end: state.safe.offset), state)
        }
    }

    /// Returns when events after a position can be read, the journal is closed, or the task is cancelled.
    func waitForMore(than position: UInt64) async {
        let ticket = lock.withLock {
            tickets += 1
            return tickets
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isReady = lock.withLock {
                    // Stored before `state` is read: either this reader sees a new event, or the publisher sees `true`.
                    hasReaders.store(true, ordering: .sequentiallyConsistent)
                    if !state.goesOn || state.safe.position > position || cancelled.remove(ticket) != nil {
                        return true
                    }
                    readers.append((ticket, continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            Simulation.undivided {
                let continuation: CheckedContinuation<Void, Never>? = lock.withLock {
                    guard let index = readers.firstIndex(where: { $0.ticket == ticket }) else {
                        cancelled.insert(ticket)
                        return nil
                    }
                    return readers.remove(at: index).continuation
                }
                continuation?.resume()
            }
        }
        lock.withLock { _ = cancelled.remove(ticket) }
    }

    /// Wakes the waiting readers; called without the lock.
    func wakeReaders() {
        guard hasReaders.load(ordering: .sequentiallyConsistent) else { return }
        let woken = lock.withLock {
            hasReaders.store(false, ordering: .sequentiallyConsistent)
            defer { readers = [] }
            return readers
        }
        for reader in woken { reader.continuation.resume() }
    }

    /// What a host reports of its journal.
    var report: RecordingReport {
        let (status, now) = (status, WallClock.now())
        let (failure, oldest) = lock.withLock { (state.failure(path), custody.oldest) }
        return RecordingReport(
            firstPosition: status.firstPosition,
            lastPosition: status.lastPosition,
            safePosition: status.safePosition,
            unsafeNanoseconds: status.unsafeFor?.nanoseconds,
            segments: status.segments,
            bytes: status.bytes,
            failure: failure?.description,
            owedPosition: oldest?.position,
            owedNanoseconds: oldest.map { now < $0.time ? 0 : now - $0.time }
        )
    }

    /// The journal's present positions and sizes.
    var status: JournalStatus {
        let now = MonotonicClock.now()
        return lock.withLock {
            JournalStatus(
                firstPosition: catalog.firstPosition ?? 1,
                lastPosition: state.accepted.position,
                safePosition: state.safe.position,
                unsafeFor: state.unsafeSince.map { .nanoseconds(Int64(clamping: now < $0 ? 0 : now - $0)) },
                segments: catalog.segments.count,
                bytes: catalog.byteCount(with: spare == nil ? 0 : settings.segmentBytes)
            )
        }
    }
}
