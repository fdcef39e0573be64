public import DomainEvents
import JournalFormat
import Locks

/// Reads the last bookmark of each worker when a journal is opened.
enum BookmarkRecovery {
    /// The bookmarks of a journal's events, and of those that it no longer keeps.
    ///
    /// Bookmarks after a place where events are missing do not count, so that a worker goes on before that place: it
    /// may bring an event again, but leaves none out.
    /// - Parameters:
    ///   - catalog: all segments.
    ///   - fromSafe: a cursor that has gathered what the segments say, from the one at the catalog's `safeIndex` on.
    static func read(
        _ storage: any JournalStorage,
        at path: String,
        _ catalog: SegmentCatalog,
        fromSafe: JournalCursor
    ) throws(JournalError) -> BookmarkTable {
        var begin = catalog.safeIndex
        var cursor = fromSafe
        while let index = begin, let head = catalog.segments[index].head, head.bookmarkBytes > 0, !cursor.hasTable {
            // A kill prevented the segment's record of bookmarks, or the record is damaged.
            begin = catalog.segments[..<index].lastIndex { $0.head != nil }
            guard let earlier = begin.flatMap({ catalog.segments[$0].head }) else { break }
            cursor = try JournalCursor.gathering(storage, at: path, catalog, from: earlier).cursor
        }
        return cursor.bookmarks
    }
}

extension JournalCore {
    /// The table at a segment's beginning takes at most the segment's size divided by this; the rest is for events.
    private static let tableShare = 4

    /// Whether a segment has room for the bookmarks of these workers and one more, however long the bookmarks become.
    static func hasRoom(for bookmarks: BookmarkTable, and worker: String? = nil, _ settings: Settings) -> Bool {
        bookmarks.longestStride(with: worker) <= settings.segmentBytes / tableShare
    }

    /// Throws the reason if an event's bookmark cannot be kept; called with the lock held.
    func check(_ bookmark: WorkerBookmark?) throws(EventRecord.Mistake) {
        guard let bookmark, bookmarks[bookmark.worker] == nil,
            !Self.hasRoom(for: bookmarks, and: bookmark.worker, settings)
        else { return }
        throw EventRecord.Mistake(
            text: "a segment has no room for the bookmarks of another worker, \(bookmark.worker)"
        )
    }

    /// A worker's last bookmark, once its event is as safe as the durability promises; the calling thread waits.
    ///
    /// An earlier bookmark is safe already, but with it the worker would bring events again that the journal has.
    func lastBookmark(of worker: String) -> KeptBookmark {
        let (entry, isKept, isSafe) = lock.withLock {
            let entry = bookmarks[worker]
            return (entry, !state.isOver, state.safe.position >= entry?.position ?? 0)
        }
        guard isKept else { return .notKept }
        if !isSafe { do { try waitUntilSafe() } catch { return .notKept } }
        return .last(entry.map { EventBookmark($0.bookmark) })
    }
}

extension EventJournal {
    /// The bookmark of a worker's last recorded event that had one; nil if there was none.
    ///
    /// With `durability: .machine` the event may not be safe yet; the worker gets the bookmark once the event is safe.
    public func bookmark(ofWorker name: String) -> EventBookmark? {
        core.lock.withLock { core.bookmarks[name] }.map { EventBookmark($0.bookmark) }
    }
}
