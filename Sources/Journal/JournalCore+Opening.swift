import BridgePlatform
import JournalFormat

/// Making the first segment that an opened journal writes to, even on a full disk.
extension JournalCore {
    /// Makes the first segment that an opened journal writes to; on a full disk, removes the oldest segments if the
    /// policy allows it.
    static func first(
        _ room: inout OpeningRoom,
        _ storage: any JournalStorage,
        _ settings: Settings,
        _ opening: JournalOpening
    ) throws(JournalError) -> SegmentWriter {
        while true {
            let head = SegmentHead(
                journal: opening.journal,
                number: opening.nextNumber,
                segmentBytes: settings.segmentBytes,
                firstPosition: opening.lastPosition + 1,
                begunAt: WallClock.now(),
                previousEnd: opening.lastEnd,
                bookmarkBytes: opening.bookmarks.recordBytes,
                owedFrom: room.custody.lowestPosition ?? 0
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
                room.append(.init(number: head.number, reading: .head(head), byteCount: settings.segmentBytes))
                return writer
            } catch {
                try room.makeRoom(after: error, in: storage)
            }
        }
    }
}
