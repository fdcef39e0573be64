import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Synchronization

/// Owns a journal's files: writes events on the callers' threads, under a lock, and does slow work on its own thread.
final class JournalCore: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic. What each event needs is marked `unchecked`, without
    // Swift's check of exclusive access: the lock makes it exclusive, and the check takes longer than the access.
    let path: String
    let storage: any JournalStorage
    let settings: Settings
    let identity: UInt64
    /// Keeps other processes and journals from writing in the directory until the thread has ended.
    var directoryLock: LockFile?

    let lock = Lock()
    /// Signalled when there may be work for the thread.
    let work: Condition
    /// Signalled when the next segment is ready or cannot be made, or the journal takes no more events.
    let spareDecided: Condition
    @exclusivity(unchecked) var state: JournalState
    var catalog: SegmentCatalog
    @exclusivity(unchecked) var writer: SegmentWriter
    @exclusivity(unchecked) var spare: SegmentWriter?
    /// The last bookmark of each worker, up to the last accepted event.
    @exclusivity(unchecked) var bookmarks: BookmarkTable
    /// Which events are owed to which receivers, up to the last accepted event and note, even if the note is unwritten.
    @exclusivity(unchecked) var custody: CustodyLedger
    /// The notes that wait for the next segment, or for room in the file system.
    @exclusivity(unchecked) var unwritten = WaitingNotes()
    /// The files to synchronize before the file of the segment that is being written.
    var unsynchronized: [any JournalFile] = []
    /// What the journal's thread calls when the event at a position is safe, or cannot become safe.
    ///
    /// No body may record an event: the event could need a segment that only this thread makes. Only a body that is
    /// called with an error may publish an event, namely `HandlerFailed`: the journal takes no events then. The inline
    /// handlers of `HandlerFailed` may run on the journal's thread.
    var waiters: [(position: UInt64, body: @Sendable ((any Error)?) -> Void)] = []
    var hasEnded = false
    /// Called when the thread has ended.
    var closers: [@Sendable () -> Void] = []
    private var readers: [(ticket: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    private var tickets: UInt64 = 0
    private var cancelled: Set<UInt64> = []
    /// Whether the next segment is still to be made; recording threads read this without the lock.
    let lacksSpare = Atomic<Bool>(true)
    /// Whether readers may wait; recording threads read this without the lock.
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
        var room = opening.room
        writer = try Self.first(&room, storage, settings, opening)
        custody = room.custody
        catalog = room.catalog
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

    /// Returns when all events that were accepted before the call are safe; only a thread that may wait calls this.
    ///
    /// - Throws: The error with which the journal has failed.
    func waitUntilSafe() throws {
        let (baton, failure) = (Baton(), Failure())
        whenSafe { error in
            failure.error = error
            baton.handOver()
        }
        baton.take()
        if let error = failure.error { throw error }
    }

    /// Why events are not safe; one thread sets it before it hands over to the thread that reads it.
    private final class Failure: @unchecked Sendable {
        // Sendable: a baton passes it from thread to thread.
        var error: (any Error)?
    }

    /// How far readers may read, which is up to the last safe event, and the journal's state at the same moment.
    var horizon: (JournalCursor.Horizon, JournalState) {
        lock.withLock {
            var visible = catalog
            while let last = visible.segments.last, last.number > state.safe.number { visible.removeLast() }
            return (.init(catalog: visible, end: state.safe.offset, last: state.safe.position), state)
        }
    }

    /// Returns when there may be events to read after a position, the journal is closed, or the task is cancelled.
    func waitForMore(than position: UInt64) async {
        let ticket = lock.withLock {
            tickets += 1
            return tickets
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isReady = lock.withLock {
                    // This precedes the read of `state`: this reader sees a new event, or the publisher sees `true`.
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
        if hasReaders.load(ordering: .sequentiallyConsistent) { resumeReaders() }
    }

    @inline(never)
    private func resumeReaders() {
        let woken = lock.withLock {
            hasReaders.store(false, ordering: .sequentiallyConsistent)
            defer { readers = [] }
            return readers
        }
        for reader in woken { reader.continuation.resume() }
    }

    /// What a host reports about its journal.
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
