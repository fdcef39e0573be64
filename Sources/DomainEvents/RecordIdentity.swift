/// Tells the record of an event that a worker has brought from all other records.
///
/// A worker brings an event of its own once. It may import an event of another machine several times, under the same
/// identity; only a bookmark says then which import a record is of.
package struct RecordIdentity: Hashable, Sendable {
    package let id: EventID
    /// Only of an imported event.
    private let bookmark: WorkerBookmark?

    /// Nil if nothing tells the event's record from others: the event was imported without a bookmark.
    package init?(_ context: EventContext) {
        if context.id.isForeign, context.bookmark == nil { return nil }
        (id, bookmark) = (context.id, context.id.isForeign ? context.bookmark : nil)
    }

    package static func == (left: RecordIdentity, right: RecordIdentity) -> Bool {
        guard left.id == right.id else { return false }
        guard let one = left.bookmark, let other = right.bookmark else { return left.bookmark === right.bookmark }
        return one.bookmark == other.bookmark && one.worker.hasBytes(of: other.worker)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(bookmark?.bookmark)
    }
}
