import BridgePlatform
import JournalFormat

/// What a journal's directory keeps while the journal is opened: on a full disk, the oldest segments go if the policy
/// allows it.
///
/// Segments with owed events are removed as well: without a journal, no host would start and deliver these events. The
/// ledger has them for the host that starts now, but no later host finds them. So the first such segment goes only
/// after a second try. Once the removals have freed the room of two segments, no further segment goes: another program
/// may be taking the room.
struct OpeningRoom {
    private(set) var catalog: SegmentCatalog
    /// Which events are owed to which receivers.
    private(set) var custody: CustodyLedger
    private let path: String
    private let settings: JournalCore.Settings
    /// The position that the next event will have.
    private let nextPosition: UInt64
    /// Whether all segments are as safe as the journal's durability promises.
    private var isSafe = false
    private var removed = 0
    private var freedBytes = 0
    private var hasTriedTwice = false

    init(
        _ catalog: SegmentCatalog,
        _ custody: CustodyLedger,
        at path: String,
        _ settings: JournalCore.Settings,
        nextPosition: UInt64
    ) {
        self.catalog = catalog
        self.custody = custody
        self.path = path
        self.settings = settings
        self.nextPosition = nextPosition
    }

    mutating func append(_ segment: SegmentCatalog.Segment) { catalog.append(segment) }

    mutating func removeLast() { catalog.removeLast() }

    /// Prepares another try of what failed with this error: removes the oldest segment.
    ///
    /// If that segment has owed events, the first call removes nothing, and the caller just tries again. The removed
    /// events may have caused events in later segments. As in a journal that is open, all later events are made safe
    /// first: a power cut could otherwise take the effects after their causes are gone.
    ///
    /// - Throws: ``JournalError`` if no segment may be removed, or if that does not help.
    mutating func makeRoom(after error: SystemError, in storage: any JournalStorage) throws(JournalError) {
        guard error.isFullDisk, settings.whenFull == .removeOldest, catalog.segments.count > 1,
            freedBytes < 2 * settings.segmentBytes
        else { throw refusal(error) }
        if !hasTriedTwice, custody.isOwedInOldest(of: catalog) {
            hasTriedTwice = true
            return
        }
        if !isSafe { try makeSafe(in: storage) }
        let oldest = catalog.removeOldest()
        do throws(SystemError) {
            try storage.remove(oldest.fileName)
        } catch {
            throw refusal(error)
        }
        removed += 1
        freedBytes = freedBytes.saturatingSum(oldest.byteCount)
        custody.filesBegin(at: catalog.segments.isEmpty ? nextPosition : catalog.firstPossiblePosition)
    }

    /// With `durability: .machine`, makes all segments safe: an earlier process may have used `.process`.
    mutating func makeSafe(in storage: any JournalStorage) throws(JournalError) {
        isSafe = true
        guard case .machine = settings.durability else { return }
        do throws(SystemError) {
            for segment in catalog.segments {
                try storage.open(segment.fileName, forWriting: true).synchronize()
            }
        } catch {
            throw refusal(error)
        }
    }

    /// Why the journal cannot be opened, and how much was removed in vain.
    private func refusal(_ error: SystemError) -> JournalError {
        let failure = JournalError(error, at: path)
        if removed == 0 { return failure }
        return JournalError(
            failure.code,
            """
            \(failure.description), though it has removed \(removed) of its oldest segments, with \
            \(custody.eventsWithoutFile) owed events
            """
        )
    }
}
