import BridgePlatform
import JournalFormat

/// Making the first segment that an opened journal writes to, even on a full disk.
extension JournalCore {
    /// Makes the first segment that an opened journal writes to; on a full disk, removes the oldest segments if the
    /// policy allows it.
    ///
    /// Segments with owed events are removed as well: without a journal, no host would start and deliver these events.
    /// The ledger has them for the host that starts now, but no later host finds them. So the first such segment goes
    /// only after a second try. Once the removals have freed the room of two segments, no further segment goes: another
    /// program may be taking the room.
    static func first(
        _ catalog: inout SegmentCatalog,
        _ custody: inout CustodyLedger,
        _ storage: any JournalStorage,
        at path: String,
        _ settings: Settings,
        _ opening: JournalOpening
    ) throws(JournalError) -> SegmentWriter {
        var (removed, freedBytes, hasTriedTwice) = (0, 0, false)
        while true {
            let head = SegmentHead(
                journal: opening.journal,
                number: opening.nextNumber,
                segmentBytes: settings.segmentBytes,
                firstPosition: opening.lastPosition + 1,
                begunAt: WallClock.now(),
                previousEnd: opening.lastEnd,
                bookmarkBytes: opening.bookmarks.recordBytes,
                owedFrom: custody.lowestPosition ?? 0
            )
            do throws(SystemError) {
                let writer = try prepare(
                    head.number,
                    storage,
                    settings,
                    head: head,
                    bookmarks: opening.bookmarks,
                    isReplacement: opening.isReplacement
                )
                catalog.append(.init(number: head.number, reading: .head(head), byteCount: settings.segmentBytes))
                return writer
            } catch {
                guard error.isFullDisk, settings.whenFull == .removeOldest, catalog.segments.count > 1,
                    freedBytes < 2 * settings.segmentBytes
                else { throw refusal(error, at: path, removed, custody) }
                if !hasTriedTwice, custody.isOwedInOldest(of: catalog) {
                    hasTriedTwice = true
                    continue
                }
                let oldest = catalog.removeOldest()
                do throws(SystemError) {
                    try storage.remove(oldest.fileName)
                } catch {
                    throw refusal(error, at: path, removed, custody)
                }
                removed += 1
                freedBytes = freedBytes.saturatingSum(oldest.byteCount)
                custody.filesBegin(at: catalog.firstPosition ?? head.firstPosition)
            }
        }
    }

    /// Why a journal cannot be opened, and how much was removed in vain.
    private static func refusal(
        _ error: SystemError,
        at path: String,
        _ removed: Int,
        _ custody: CustodyLedger
    ) -> JournalError {
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
