import BridgePlatform
import DomainEvents
import JournalFormat
import Locks
import Synchronization

/// Writing events into the present segment, on the threads that publish or receive them.
extension JournalCore {
    /// Waits until the next segment is made if a payload of this length will need it, so ``append`` seldom has to wait.
    func makeRoom(for byteCount: Int) {
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
        _ payload: UnsafeRawBufferPointer,
        on line: JournalLine,
        context: BorrowedContext,
        owed: [OwedReceiver] = [],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws(JournalError) -> Bool {
        try lock.withLock { () throws(JournalError) in
            while true {
                let isSafe = try appendHere(
                    payload,
                    on: line,
                    context: context,
                    owed: owed,
                    whenSettled: whenSettled
                )
                if let isSafe { return isSafe }
                try enterNextSegment()
            }
        }
    }

    /// Writes an event whose payload and context the caller owns.
    func append(
        _ payload: [UInt8],
        name: String,
        context: EventContext,
        owed: [OwedReceiver] = [],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws(JournalError) -> Bool {
        let line = JournalLine(name, of: self)
        return try context.withBorrowed { (context) throws(JournalError) in
            try payload.withUnsafeBytes { bytes in
                Result { () throws(JournalError) in
                    try append(bytes, on: line, context: context, owed: owed, whenSettled: whenSettled)
                }
            }.get()
        }
    }

    /// Writes an event into the present segment; called with the lock held.
    ///
    /// - Returns: What ``append`` returns; nil if the event was not written because only the next segment has room for
    ///   it.
    func appendHere(
        _ payload: UnsafeRawBufferPointer,
        on line: JournalLine,
        context: BorrowedContext,
        owed: [OwedReceiver],
        whenSettled: (@Sendable ((any Error)?) -> Void)?
    ) throws(JournalError) -> Bool? {
        if !state.takesEvents { try state.check(path) }
        let position = state.accepted.position + 1
        if try !writePlain(payload, on: line, context, owed, position) {
            let record = try makeRecord(line.name, context, owed, payload.count)
            guard writer.hasRoom(forStride: record.stride) else { return nil }
            try write { () throws(SystemError) in
                try writer.append(
                    record,
                    payload,
                    position: position,
                    name: line.name,
                    context: context,
                    owed: owed
                )
            }
        }
        if context.full != nil, let bookmark = context.bookmark {
            bookmarks.note(bookmark.bookmark.bytes, of: bookmark.worker, at: position)
        }
        if !owed.isEmpty { custody.recorded(context, at: position, owedTo: owed) }
        let isSafe = state.eventWritten(end: writer.offset, isAwaited: whenSettled != nil, at: MonotonicClock.now)
        if isSafe { return true }
        if let whenSettled { waiters.append((position, whenSettled)) }
        work.signal()
        return false
    }

    /// Writes an event whose record `PlainRecords` can make.
    ///
    /// - Returns: False if the event was not written: `PlainRecords` cannot make its record, the record takes more than
    ///   half a segment, or the present segment has no room for it.
    @inline(__always)
    private func writePlain(
        _ payload: UnsafeRawBufferPointer,
        on line: JournalLine,
        _ context: BorrowedContext,
        _ owed: [OwedReceiver],
        _ position: UInt64
    ) throws(JournalError) -> Bool {
        // Without a full context, the first condition spares the call of `isPlain`. A record that takes more than half
        // a segment is left to `makeRecord`, which checks whether there is room for it beside the bookmarks.
        guard context.full == nil || context.isPlain,
            let (record, records) = line.plainRecord(of: context, owed: owed, payloadBytes: payload.count),
            record.stride <= settings.segmentBytes / 2
        else { return false }
        let writer = Unmanaged.passUnretained(writer)
        guard writer._withUnsafeGuaranteedRef({ $0.hasRoom(forStride: record.stride) }) else { return false }
        let error = writer._withUnsafeGuaranteedRef {
            $0.append(record, of: records, payload, position: position, context: context)
        }
        if let error { throw failure(of: error) }
        return true
    }

    /// The longest stride for which every segment has room, however long the bookmarks at the segment's beginning
    /// become.
    private func longestStride(besideBookmarkOf worker: String?) -> Int {
        SegmentWriter.longestStride(inSegmentOf: settings.segmentBytes) - bookmarks.longestStride(with: worker)
    }

    /// Runs a write to a segment; an error closes the journal for good, unless the write only found no room.
    func write(_ body: () throws(SystemError) -> Void) throws(JournalError) {
        do throws(SystemError) {
            try body()
        } catch {
            throw failure(of: error)
        }
    }

    private func failure(of error: SystemError) -> JournalError { noRoom(error) ?? fail(error) }

    private func makeRecord(
        _ name: String,
        _ context: BorrowedContext,
        _ owed: [OwedReceiver],
        _ payloadBytes: Int
    ) throws(JournalError) -> EventRecord {
        let mistake: String
        do throws(EventRecord.Mistake) {
            let record = try EventRecord(name: name, context: context, owed: owed, payloadBytes: payloadBytes)
            let bookmark = context.bookmark
            try check(bookmark)
            let longest = longestStride(besideBookmarkOf: bookmark?.worker)
            if record.stride <= longest { return record }
            mistake = "it takes \(record.stride) bytes; a segment has room for \(longest)"
        } catch {
            mistake = error.text
        }
        throw JournalError(.notRecordable, "\(name) \(context.id) is not in the journal \(path): \(mistake)")
    }

    /// Switches to the segment that was made ahead; called with the lock held.
    ///
    /// If there is none, this waits until the journal's thread has made one, or has failed to. The caller then tries
    /// again.
    func enterNextSegment() throws(JournalError) {
        guard let spare else {
            if let noRoom = state.noRoom {
                // This event is refused, but the journal's thread tries again to make the segment, for later events.
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
            unsafeSegments: state.safe.isBehindAll(before: state.accepted) ? 0 : number - state.safe.number,
            owedFrom: custody.lowestPosition ?? 0
        )
        try write { () throws(SystemError) in try spare.begin(head, bookmarks, after: writer) }
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
            "the journal \(path) is closed for good, as it is uncertain now which events are safe: \(error)"
        )
        state.failed(failure)
        work.signal()
        spareDecided.broadcast()
        return failure
    }
}
