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
    /// False outside a worker, and in a worker whose host has no journal. Events then go without their bookmarks, and
    /// the worker has to keep its place itself.
    public var keepsBookmarks: Bool { WorkerSession.of(self)?.keptBookmark ?? .notKept != .notKept }

    /// The bookmark of the last event of this worker's former starts that the host's journal has, also if the host was
    /// killed since; nil if there is none, or if ``keepsBookmarks`` is false.
    ///
    /// The value stays the same as long as the worker runs. An event is only kept if the journal records events of its
    /// name; the bookmarks of other events are not kept.
    public var lastBookmark: EventBookmark? {
        guard case .last(let bookmark) = WorkerSession.of(self)?.keptBookmark else { return nil }
        return bookmark
    }
}
