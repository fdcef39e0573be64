import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Synchronization

/// The owner of a journal's files: takes events under its lock, and has one thread do what takes time.
final class JournalCore: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic.
    let path: String
    let storage: any JournalStorage
    let settings: Settings
    private let identity: UInt64
    /// Holds the directory against other processes until the thread has ended.
    var directoryLock: LockFile?

    let lock = Lock()
    /// There may be work for the thread.
    let work: Condition
    /// The segment that follows is ready, or will not be.
    let spareDecided: Condition
    var state: JournalState
    var catalog: SegmentCatalog
    var writer: SegmentWriter
    var spare: SegmentWriter?
    /// Files whose records are not all safe, beside the one that is written.
    var unsynchronized: [any JournalFile] = []
    var waiters: [(position: UInt64, body: @Sendable ((any Error)?) -> Void)] = []
    var hasEnded = false
    /// Called when the thread has ended.
    var closers: [@Sendable () -> Void] = []
    private var readers: [(ticket: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    private var tickets: UInt64 = 0
    private var cancelled: Set<UInt64> = []
    /// Whether the segment that follows is not made yet, for recording threads to see without the lock.
    let lacksSpare = Atomic<Bool>(true)
    /// Whether readers wait, for recording threads to see without the lock.
    private let hasReaders = Atomic<Bool>(false)

    struct Settings: Sendable {
        var durability = JournalDurability.process
        var retention = JournalRetention.everything
        var whenFull = JournalFullPolicy.refuse
        var segmentBytes = 16 << 20
    }

    /// Goes on behind what a journal's directory holds.
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
        var catalog = opening.catalog
        let number = opening.nextNumber
        let head = SegmentHead(
            journal: opening.journal,
            number: number,
            segmentBytes: settings.segmentBytes,
            firstPosition: opening.lastPosition + 1,
            begunAt: WallClock.now(),
            previousEnd: opening.lastEnd
        )
        do throws(SystemError) {
            writer = try Self.first(head, &catalog, storage, settings, isReplacement: opening.isReplacement)
        } catch {
            throw JournalError(error, at: path)
        }
        catalog.append(.init(number: number, reading: .head(head), byteCount: settings.segmentBytes))
        self.catalog = catalog
        let mark = JournalState.Mark(number: number, offset: writer.offset, position: opening.lastPosition)
        state = JournalState(settings.durability, at: mark)
    }

    /// Makes the segment with which an opened journal goes on; the oldest ones go if they may and have to.
    private static func first(
        _ head: SegmentHead,
        _ catalog: inout SegmentCatalog,
        _ storage: any JournalStorage,
        _ settings: Settings,
        isReplacement: Bool
    ) throws(SystemError) -> SegmentWriter {
        while true {
            do throws(SystemError) {
                return try prepare(head.number, storage, settings, head: head, isReplacement: isReplacement)
            } catch {
                guard error.isFullDisk, settings.whenFull == .removeOldest, catalog.segments.count > 1 else {
                    throw error
                }
                try storage.remove(catalog.removeOldest().fileName)
            }
        }
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

    /// Waits for the segment that follows if a payload of this length will need it; most likely ``append`` need not.
    func makeRoom(forPayload byteCount: Int) {
        guard lacksSpare.load(ordering: .relaxed) else { return }
        lock.withLock {
            // The rest of a record is seldom longer.
            let stride = byteCount + 1_024
            while case .open = state.phase, spare == nil, state.noRoom == nil, !writer.hasRoom(forStride: stride) {
                work.signal()
                spareDecided.wait()
            }
        }
    }

    /// Writes an event.
    ///
    /// - Returns: Whether it is as safe as was asked for; otherwise `whenSettled` is called once it is.
    func append(
        _ payload: [UInt8],
        name: String,
        context: EventContext,
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws(JournalError) -> Bool {
        try lock.withLock { () throws(JournalError) in
            while true {
                try state.check(path)
                let position = state.accepted.position + 1
                let record = try makeRecord(position, name, context, payload.count)
                guard writer.hasRoom(forStride: record.stride) else {
                    try enterNextSegment()
                    continue
                }
                let written = payload.withUnsafeBytes { bytes in
                    Result { () throws(SystemError) in try writer.append(record, bytes) }
                }
                if case .failure(let error) = written { throw noRoom(error) ?? fail(error) }
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
        _ payloadBytes: Int
    ) throws(JournalError) -> EventRecord {
        let mistake: String
        do {
            let record = try EventRecord(position: position, name: name, context: context, payloadBytes: payloadBytes)
            let longest = SegmentWriter.longestStride(inSegmentOf: settings.segmentBytes)
            if record.stride <= longest { return record }
            mistake = "it takes \(record.stride) bytes; a segment has room for \(longest)"
        } catch {
            mistake = error.text
        }
        throw JournalError(.notRecordable, "\(name) \(context.id) is not in the journal \(path): \(mistake)")
    }

    /// Goes on in the segment that was made ahead, or waits for it; called with the lock held.
    private func enterNextSegment() throws(JournalError) {
        guard let spare else {
            if let noRoom = state.noRoom {
                // The event that finds no room has the thread look again, for those behind it.
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
            previousEnd: state.accepted.offset
        )
        do throws(SystemError) {
            try spare.begin(head)
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

    /// What is wrong if the system found no room for what it was to write: nothing else has changed.
    private func noRoom(_ error: SystemError) -> JournalError? {
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

    /// Calls `body` when everything that was taken so far is as safe as was asked for, or cannot be.
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

    /// How far readers may read, to what is as safe as was asked for, and the state at that moment.
    var horizon: (JournalCursor.Horizon, JournalState) {
        lock.withLock {
            var visible = catalog
            while let last = visible.segments.last, last.number > state.safe.number { visible.removeLast() }
            return (.init(catalog: visible, end: state.safe.offset), state)
        }
    }

    /// Returns when there is more to read than up to a position, or the journal is closed, or the task is cancelled.
    func waitForMore(than position: UInt64) async {
        let ticket = lock.withLock {
            tickets += 1
            return tickets
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isReady = lock.withLock {
                    // Before the look: either that sees a new event, or its publisher sees this.
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

    /// Wakes the readers that wait, without the lock.
    func wakeReaders() {
        guard hasReaders.load(ordering: .sequentiallyConsistent) else { return }
        let woken = lock.withLock {
            hasReaders.store(false, ordering: .sequentiallyConsistent)
            defer { readers = [] }
            return readers
        }
        for reader in woken { reader.continuation.resume() }
    }

    /// What the journal is at the moment.
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
