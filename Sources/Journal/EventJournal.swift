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
/// - A recorded event of this process is in the journal before a subscriber of any process gets it and, outside
///   transactions, before `publish` returns. A host records another process's event before it passes the event on.
/// - If, outside transactions, one `publish` of this process returns before another begins, the journal keeps their
///   order.
/// - A reader gets every event once and in order: from any position on, and then each new event as it comes. Where
///   events are missing, the reader gets a gap.
/// - `publish` does not wait for the disk, with one exception: if events come faster than the file system makes
///   segments, `publish` waits for the next segment.
/// - The first host that starts with a publisher takes over the events that an earlier host still owed to workers, if
///   this journal was the first to record from the publisher; closed journals do not count. So call `record` before
///   you start the host.
/// - One process at a time writes a journal; any number of processes read its files.
///
/// All members may be used from any thread. Releasing a journal closes it; ``close()`` also waits until it is closed.
public final class EventJournal: Sendable {
    let core: JournalCore
    private let recordings: JournalRecordings

    /// What the journal found in its directory when it was opened.
    public let recovery: JournalRecovery

    /// Opens the journal in a directory; makes the directory and the journal if they do not exist.
    ///
    /// This call reads the heads of all segments, the whole last segment, and at times some segments before it. If
    /// events are owed to workers or kept as dead letters, it reads everything from the oldest of these on, and holds
    /// these events in memory until a host takes them over. If events have to be safe against a power cut, it also
    /// synchronizes all segments. Open a journal on a thread that may wait for the disk.
    /// - Parameters:
    ///   - path: the directory, on a disk of this machine; this user has to own it, with the permissions 0700.
    ///   - durability: what events are safe against.
    ///   - retention: how much of the past is kept.
    ///   - whenFull: what the journal does if there is no room for another segment.
    ///   - segmentBytes: the size of a file, from 64 KiB to 128 MiB in multiples of 4 KiB. Each event must fit into a
    ///     file.
    /// - Throws: ``JournalError`` if the journal is in use, the directory is unsuitable, files belong to several
    ///   journals, the last file is too damaged or too new to continue, or the operating system refused something.
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
        let opening = try JournalOpening(storage, at: path, settings)
        core = try JournalCore(opening, storage: storage, path: path, lock: lock, settings: settings)
        var recovery = opening.recovery
        recovery.unprotectedEvents = core.custody.eventsWithoutFile
        self.recovery = recovery
        recordings = JournalRecordings(core)
        try core.start()
    }

    deinit { beginToClose() }

    /// Ends the recordings, and begins to close the files.
    ///
    /// Hosts learn first that they can no longer count on the journal. So a host that finds a type unrecorded, and the
    /// journal still there, knows that the journal did not record the type.
    private func beginToClose() {
        core.retire()
        recordings.end()
        core.close()
    }

    // MARK: - Recording

    /// Records every event of a type that passes through a publisher, from now until the journal is closed.
    ///
    /// The journal subscribes to the type, so workers send such events; receipts count the journal as a handler. If an
    /// event cannot be recorded, its publisher learns of the failure as it learns of a handler's error. If the journal
    /// already records the type from this publisher or is closed, the call does nothing.
    /// - Throws: ``JournalError`` if the type is a report of a publisher or of the bridge about itself.
    public func record<E: DomainEvent>(
        _ type: E.Type,
        of publisher: EventPublisher,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(JournalError) {
        guard !E._isSelfReport else {
            throw JournalError(
                .notRecordable,
                "the journal \(core.path): \(E.eventName) is a report about the bridge, and reports are not recorded"
            )
        }
        recordings.record(type, of: publisher, at: SubscriptionSite(file: file, line: line))
    }

    /// Records every event with one of these names that passes through a publisher, until the journal is closed.
    ///
    /// Recording a name begins as soon as this process uses a type of that name with the publisher. Use the type before
    /// you start a host: otherwise the host cannot recover such events from the outboxes of killed workers. Reports
    /// about the bridge are left out.
    public func record(
        named names: some Sequence<String>,
        of publisher: EventPublisher,
        file: StaticString = #fileID,
        line: UInt = #line
    ) {
        recordings.record(named: names, of: publisher, at: SubscriptionSite(file: file, line: line))
    }

    /// Returns when every event that was recorded so far is as safe as the journal's durability promises.
    ///
    /// - Throws: ``JournalError`` if the events cannot be made safe.
    public func synchronize() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            core.whenSafe { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    /// The journal's present positions and sizes.
    public var status: JournalStatus { core.status }

    /// Stops recording, makes the recorded events safe, and returns when another journal may open the directory.
    ///
    /// Readers get the remaining events, and then end. If the events cannot be made safe, readers that follow throw.
    public func close() async {
        beginToClose()
        await withCheckedContinuation { continuation in core.whenClosed { continuation.resume() } }
    }

    // MARK: - Reading

    /// The events of one type after a position: first the recorded events, then those that are recorded while you read.
    ///
    /// - Parameters:
    ///   - type: the type of the events. An event of the type's name that does not decode becomes a gap.
    ///   - position: the position of the last event that the caller does not need, or 0 to begin with the first event.
    ///     If the journal no longer keeps the event after it, the reader first gets a gap.
    ///   - query: which of the events are wanted; its names are ignored.
    ///   - upcasters: the former names of the type's older events, and how to read older forms of these events.
    ///   - follows: whether the reader waits for later events. If not, the reader ends after the newest safe event.
    public func events<E: DomainEvent>(
        of type: E.Type,
        after position: UInt64,
        where query: JournalQuery = JournalQuery(),
        upcasting upcasters: [JournalUpcaster] = [],
        follows: Bool = true
    ) -> JournalEvents<E> {
        var query = query
        query.names = EntryDecoder<E>.names(upcasters).map(\.text)
        return JournalEvents(core: core, query: query, upcasters: upcasters, position: position, follows: follows)
    }

    /// Events with the query's names, or all, in CBOR; otherwise like ``events(of:after:where:upcasting:follows:)``.
    public func records(
        after position: UInt64,
        where query: JournalQuery = JournalQuery(),
        follows: Bool = true
    ) -> JournalRecords {
        JournalRecords(core: core, query: query, position: position, follows: follows)
    }
}
