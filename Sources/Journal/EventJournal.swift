import BridgePlatform
public import DomainEvents
import JournalFormat

/// Keeps the events of chosen types in files, where they outlive the process, and reads them again.
///
/// ```swift
/// let journal = try EventJournal(at: "/var/lib/boxes/journal")
/// try journal.record(BoxProvisioned.self, of: publisher)
/// for try await step in journal.events(of: BoxProvisioned.self, after: 0) {
///     if case .event(let entry) = step { print(entry.position, entry.event.label) }
/// }
/// ```
///
/// - An event of a recorded type is in the journal before a subscriber gets it, here or in another process, and before
///   `publish` returns. In a host that holds for the events of workers, too.
/// - If one `publish` returns before another begins, their events lie in the journal in that order.
/// - A reader gets every event once and in order, from any position into those that are published while it reads.
///   Where events are missing, it is told so at that place.
/// - `publish` waits for nothing, with one exception: if events come faster than the file system takes whole segments,
///   it waits for the segment that follows.
/// - One process at a time writes a journal; any number reads its files.
///
/// All members may be used from any thread. A journal that is released is closed; ``close()`` also waits for that.
public final class EventJournal: Sendable {
    let core: JournalCore
    private let recordings: JournalRecordings

    /// What was found of the journal when it was opened.
    public let recovery: JournalRecovery

    /// Opens the journal in a directory, and makes both if they are not there.
    ///
    /// This reads the heads of all segments and the whole of the last one. If events are to be safe against a power
    /// cut, it synchronizes all segments. Make a journal where a thread may wait for the disk.
    /// - Parameters:
    ///   - path: the directory. It is of this user alone, with the permissions 0700, and on a disk of this machine.
    ///   - durability: against what events are safe.
    ///   - retention: how much of the past is kept.
    ///   - whenFull: what is done if there is no room for another segment.
    ///   - segmentBytes: the size of a file, from 64 KiB to 128 MiB in multiples of 4 KiB. An event has to fit in.
    /// - Throws: Why there can be no journal: it is in use, the directory is not suitable, a file is damaged or of a
    ///   later version, or the operating system refused something.
    public convenience init(
        at path: String,
        durability: JournalDurability = .process,
        retention: JournalRetention = .everything,
        whenFull: JournalFullPolicy = .refuse,
        segmentBytes: Int = 16 << 20
    ) throws(JournalError) {
        let place = try JournalPlace(at: path, makes: true)
        let settings = JournalCore.Settings(
            durability: durability,
            retention: retention,
            whenFull: whenFull,
            segmentBytes: segmentBytes
        )
        try self.init(place.storage, at: path, lock: try place.lock(), settings)
    }

    init(
        _ storage: any JournalStorage,
        at path: String,
        lock: LockFile?,
        _ settings: JournalCore.Settings
    ) throws(JournalError) {
        let size = settings.segmentBytes
        precondition(
            (SegmentHead.smallestSegment...SegmentHead.largestSegment).contains(size) && size % 4_096 == 0,
            "a segment of \(size) bytes; 64 KiB to 128 MiB in multiples of 4 KiB are possible"
        )
        let opening = try JournalOpening(storage, at: path, durability: settings.durability)
        recovery = opening.recovery
        core = try JournalCore(opening, storage: storage, path: path, lock: lock, settings: settings)
        recordings = JournalRecordings(core)
        try core.start()
    }

    deinit {
        recordings.end()
        core.close()
    }

    // MARK: - Recording

    /// Records every event of a type that passes a publisher from now on, until the journal is closed.
    ///
    /// The journal is a subscriber of the type: workers send such events, and receipts count it as a handler. If an
    /// event cannot be recorded, its publisher learns it as of a handler that threw. A type that this journal records
    /// of the publisher already stays as it is.
    /// - Throws: ``JournalError`` for a type in which publisher and bridge report about themselves.
    public func record<E: DomainEvent>(
        _ type: E.Type,
        of publisher: EventPublisher,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(JournalError) {
        guard !(type is any SelfReport.Type) else {
            throw JournalError(
                .notRecordable,
                "the journal \(core.path): \(E.eventName) is a report about the bridge, and reports are not recorded"
            )
        }
        recordings.record(type, of: publisher, at: SubscriptionSite(file: file, line: line))
    }

    /// Records every event with one of these names that passes a publisher from now on, until the journal is closed.
    ///
    /// A name counts from when this process uses a type of that name with the publisher; reports about the bridge are
    /// left out.
    public func record(
        named names: Set<String>,
        of publisher: EventPublisher,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        recordings.record(named: names, of: publisher, at: SubscriptionSite(file: file, line: line))
    }

    /// Returns when every event that was recorded so far is as safe as was asked for.
    ///
    /// - Throws: ``JournalError`` if that cannot be.
    public func synchronize() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            core.whenSafe { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    /// What the journal is at the moment.
    public var status: JournalStatus { core.status }

    /// Ends the recording, makes safe what was recorded, and returns when the files are closed.
    ///
    /// Readers get what is left and then their end.
    public func close() async {
        recordings.end()
        core.close()
        await withCheckedContinuation { continuation in core.whenClosed { continuation.resume() } }
    }

    // MARK: - Reading

    /// The events of one type behind a position, and then those that are recorded while you read.
    ///
    /// - Parameters:
    ///   - type: the type of the events; one that cannot be made of an event of that name is told as a gap.
    ///   - position: that of the last event that is not wanted any more. 0 is before the first event of all: if the
    ///     journal no longer keeps it, the reader is told what is missing.
    ///   - query: which of the events are wanted; its names are not looked at.
    ///   - follows: whether the reader waits for events that come later. Otherwise it ends with the newest.
    public func events<E: DomainEvent>(
        of type: E.Type,
        after position: UInt64,
        where query: JournalQuery = JournalQuery(),
        follows: Bool = true
    ) -> JournalEvents<E> {
        var query = query
        query.names = [E.eventName]
        return JournalEvents(core: core, query: query, position: position, follows: follows)
    }

    /// The events of all types behind a position, in CBOR; otherwise like ``events(of:after:where:follows:)``.
    public func records(
        after position: UInt64,
        where query: JournalQuery = JournalQuery(),
        follows: Bool = true
    ) -> JournalRecords {
        JournalRecords(core: core, query: query, position: position, follows: follows)
    }
}
