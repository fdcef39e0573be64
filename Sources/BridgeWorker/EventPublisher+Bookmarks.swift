public import DomainEvents

/// What a worker knows of its bookmarks, through the publisher that it was given; see ``EventBookmark``.
///
/// ```swift
/// await BridgeWorker.main { publisher in
///     let first = Int(publisher.lastBookmark?.text ?? "0") ?? 0
///     for try await order in orders(after: first) {
///         try await publisher.send(OrderRead(order), bookmark: EventBookmark("\(order.number)"))
///     }
/// }
/// ```
extension EventPublisher {
    /// Whether the host keeps the bookmarks of this worker's events.
    ///
    /// False outside a worker, and in a worker whose host has no journal that takes events. Events then go without
    /// their bookmarks, and the worker has to keep its place itself.
    public var keepsBookmarks: Bool { WorkerSession.of(self)?.keptBookmark ?? .notKept != .notKept }

    /// The last bookmark that the host's journal has from this worker's former starts; nil if there is none, or if
    /// ``keepsBookmarks`` is false.
    ///
    /// The journal keeps it even if the host is killed. The value stays the same as long as the link lasts. A bookmark
    /// is kept only if the journal records events of its event's name.
    public var lastBookmark: EventBookmark? {
        guard case .last(let bookmark) = WorkerSession.of(self)?.keptBookmark else { return nil }
        return bookmark
    }
}
