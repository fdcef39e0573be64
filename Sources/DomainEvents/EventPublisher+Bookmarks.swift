/// Publishes events with bookmarks; outside a worker whose host keeps bookmarks, an event goes without its bookmark.
extension EventPublisher {
    /// Waits for room, then publishes an event with a bookmark; otherwise like ``send(_:)-(E)``.
    ///
    /// The bookmarks of a worker have to be in the order of its events, so let only one task at a time send events with
    /// bookmarks.
    /// - Throws: What ``send(_:)-(E)`` throws. ``DeliveryError`` with the code `notEncodable` if the bookmark is longer
    ///   than ``EventBookmark/longest``; then nothing was sent.
    @discardableResult
    public func send<E: DomainEvent>(_ event: E, bookmark: EventBookmark) async throws -> EventID {
        try await send(event, to: channel(of: E.self), bookmark: bookmark)
    }

    /// Waits for room, then publishes an untyped event with a bookmark.
    @discardableResult
    public func send(_ event: UntypedEvent, bookmark: EventBookmark) async throws -> EventID {
        try await send(event, to: untypedChannel(named: event.name), bookmark: bookmark)
    }

    private func send<E: DomainEvent>(
        _ event: E,
        to channel: EventChannel<E>,
        bookmark: EventBookmark
    ) async throws -> EventID {
        let own = try own(bookmark, of: channel.name)
        func context() -> EventContext { makeContext(causedBy: EventContext.current, bookmark: own) }
        if let id = try sendInTransaction(event, to: channel, as: context()) { return id }
        return try await sendWhenRoom(event, to: channel, as: context())
    }

    /// Publishes an event with a bookmark; otherwise like ``publish(_:)-(E)``.
    ///
    /// - Throws: ``DeliveryError`` with the code `notEncodable` if the bookmark is longer than
    ///   ``EventBookmark/longest``; then nothing was published.
    public func publish<E: DomainEvent>(_ event: E, bookmark: EventBookmark) throws(DeliveryError) {
        try publish(event, to: channel(of: E.self), bookmark)
    }

    /// Publishes an untyped event with a bookmark.
    public func publish(_ event: UntypedEvent, bookmark: EventBookmark) throws(DeliveryError) {
        try publish(event, to: untypedChannel(named: event.name), bookmark)
    }

    private func publish<E: DomainEvent>(
        _ event: E,
        to channel: EventChannel<E>,
        _ bookmark: EventBookmark
    ) throws(DeliveryError) {
        let own = try own(bookmark, of: channel.name)
        publish(event, to: channel, makeContext(causedBy: EventContext.current, bookmark: own))
    }

    func own(_ bookmark: EventBookmark, of name: String) throws(DeliveryError) -> WorkerBookmark {
        guard bookmark.bytes.count <= EventBookmark.longest else {
            throw DeliveryError(
                .notEncodable,
                of: name,
                """
                \(name) was not sent: its bookmark has \(bookmark.bytes.count) bytes; \(EventBookmark.longest) are the \
                most
                """
            )
        }
        return WorkerBookmark(bookmark, of: source.origin)
    }
}
