import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Synchronization

/// The slow work, on the journal's own thread: making, synchronizing, removing and closing segments.
extension JournalCore {
    /// Called when the recordings are about to end: hosts count on this journal no longer, but it still takes events.
    func retire() { lock.withLock { state.retired() } }

    /// Begins to close the journal: the thread makes the accepted events safe, and then closes the files.
    func close() {
        lock.withLock {
            // Notes may wait although a segment has room for them: the file system was full when they came.
            writeNotes()
            state.closeRequested()
            work.signal()
            spareDecided.broadcast()
        }
    }

    /// Calls `body` when the thread has ended.
    func whenClosed(_ body: @escaping @Sendable () -> Void) {
        let isOver = lock.withLock {
            if hasEnded { return true }
            closers.append(body)
            return false
        }
        if isOver { body() }
    }

    func run() {
        populate(lock.withLock { writer })
        while true {
            let next = lock.withLock {
                while true {
                    let next = state.work(at: MonotonicClock.now())
                    if next == .close { state.endBegun() }
                    guard case .wait(let deadline) = next else { return next }
                    if let deadline { work.wait(untilNanoseconds: deadline) } else { work.wait() }
                }
            }
            switch next {
            case .makeSpare: makeSpare()
            case .synchronize: synchronize()
            case .close: writeEnd()
            case .end: return finish()
            case .wait: break
            }
        }
    }

    /// Has the pages of a segment prepared for stores, unless the segment was synchronized for safety.
    ///
    /// The pages of such a segment are clean. Preparing would make all of them dirty, to be written to the disk again.
    private func populate(_ segment: SegmentWriter) {
        if case .process = settings.durability { segment.populate() }
    }

    private func synchronize() {
        let begin = MonotonicClock.now()
        let (files, mark) = lock.withLock { (unsynchronized + [writer.file], state.accepted) }
        var failure: JournalError?
        do throws(SystemError) {
            for file in files { try file.synchronize() }
        } catch {
            failure = lock.withLock { fail(error) }
        }
        // The waiters whose events are safe now; all waiters after a failure, which closes the journal for good.
        let settled = lock.withLock {
            if failure == nil {
                unsynchronized.removeFirst(files.count - 1)
                state.synchronized(to: mark, since: begin)
            }
            let count = failure == nil ? waiters.prefix { $0.position <= mark.position }.count : waiters.count
            defer { waiters.removeFirst(count) }
            return waiters.prefix(count)
        }
        for waiter in settled { waiter.body(failure) }
        wakeReaders()
    }

    /// Removes segments that need not be kept, and makes the next segment.
    private func makeSpare() {
        let number = lock.withLock { state.accepted.number + 1 }
        removeOld()
        while true {
            do throws(SystemError) {
                let made = try Self.prepare(number, storage, settings)
                populate(made)
                lock.withLock {
                    spare = made
                    lacksSpare.store(false, ordering: .relaxed)
                    state.spareMade()
                    writeNotes()
                    spareDecided.broadcast()
                }
                return
            } catch {
                if error.isFullDisk, settings.whenFull == .removeOldest, removeOldest() { continue }
                let failure = JournalError(error, at: path)
                let now = MonotonicClock.now()
                lock.withLock {
                    state.spareNotMade(failure, at: now)
                    spareDecided.broadcast()
                }
                return
            }
        }
    }

    /// Makes a file with room for a segment, under the segment's name.
    ///
    /// - Parameters:
    ///   - head: the head, which the file has before it gets its name; nil for a segment that is made ahead.
    ///   - bookmarks: the bookmarks that follow that head.
    ///   - isReplacement: whether the new file replaces a complete file of the same name.
    static func prepare(
        _ number: UInt64,
        _ storage: any JournalStorage,
        _ settings: Settings,
        head: SegmentHead? = nil,
        bookmarks: BookmarkTable = BookmarkTable(),
        isReplacement: Bool = false
    ) throws(SystemError) -> SegmentWriter {
        let name = SegmentCatalog.unfinishedName
        try storage.remove(name)
        do throws(SystemError) {
            let file = try storage.create(name)
            // The room is filled, not only reserved: later stores into its pages then change no metadata of the file.
            try file.fillWithZeros(settings.segmentBytes)
            let writer = try SegmentWriter(file, segmentBytes: settings.segmentBytes, isMapped: storage.writesInPlace)
            if let head { try writer.begin(head, bookmarks) }
            let synchronizes = if case .machine = settings.durability { true } else { false }
            // Without this synchronization, a power cut could leave an empty file in place of the old one.
            if synchronizes || isReplacement { try file.synchronize() }
            try storage.rename(name, to: SegmentCatalog.fileName(of: number))
            if synchronizes { try storage.synchronize() }
            return writer
        } catch {
            // Another attempt needs the room that this file takes.
            try? storage.remove(name)
            throw error
        }
    }

    private func removeOld() {
        let age = settings.retention.age.map(\.nanoseconds)
        let now = WallClock.now()
        while true {
            let isDue = lock.withLock {
                guard catalog.segments.count > 2 else { return false }
                let bytes = catalog.byteCount(with: settings.segmentBytes)
                if let limit = settings.retention.bytes, bytes > limit { return true }
                // Every event of the oldest segment came before a later segment was begun.
                guard let age, let next = catalog.headBehindOldest, now >= next.begunAt else { return false }
                return now - next.begunAt > age
            }
            guard isDue, removeOldest() else { return }
        }
    }

    /// Removes the oldest segment, unless it is the last one, or has an event that is owed, kept as a dead letter, or
    /// not safe yet.
    ///
    /// The removed events may have caused events in later segments. All later events are made safe first: a power cut
    /// could otherwise take the effects after their causes are gone.
    ///
    /// - Returns: Whether a segment was removed.
    private func removeOldest() -> Bool {
        let caused = lock.withLock { () -> UInt64? in
            let canGo =
                catalog.segments.count > 1 && catalog.segments[0].number < state.safe.number
                && !custody.isOwedInOldest(of: catalog)
            return canGo ? state.accepted.position : nil
        }
        guard let caused else { return false }
        if lock.withLock({ state.safe.position < caused }) { synchronize() }
        let segment = lock.withLock { state.safe.position < caused ? nil : catalog.removeOldest() }
        guard let segment else { return false }
        do throws(SystemError) {
            try storage.remove(segment.fileName)
        } catch {
            // Segments are removed oldest first, so no later segment is tried.
            lock.withLock { catalog.putBack(segment) }
            return false
        }
        return true
    }

    private func writeEnd() {
        let (writer, position, synchronizes) = lock.withLock {
            (self.writer, state.accepted.position, state.synchronizes)
        }
        do throws(SystemError) {
            do throws(SystemError) {
                try writer.end(position: position, time: WallClock.now())
            } catch {
                // Without an end record, nothing is missing: the next opening writes it.
                guard error.isFullDisk else { throw error }
            }
            if synchronizes { try writer.file.synchronize() }
        } catch {
            _ = lock.withLock { fail(error) }
        }
        lock.withLock { state.closed() }
    }

    private func finish() {
        let (spare, failure) = lock.withLock {
            let failure: JournalError? = if case .failed(let error) = state.phase { error } else { nil }
            return (state.accepted.number + 1, failure)
        }
        try? storage.remove(SegmentCatalog.fileName(of: spare))
        let (waiters, closers) = lock.withLock {
            hasEnded = true
            directoryLock = nil
            defer { (self.waiters, self.closers) = ([], []) }
            return (self.waiters, self.closers)
        }
        for waiter in waiters { waiter.body(failure ?? JournalError(.closed, "the journal \(path) was closed")) }
        wakeReaders()
        for body in closers { body() }
    }
}
