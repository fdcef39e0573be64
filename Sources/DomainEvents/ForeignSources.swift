/// The newest sources of other machines that this process knows, each as one object.
///
/// Each event that arrives spells out its source. An outbox that keeps many events of one source mostly keeps one
/// object for all of them.
package struct ForeignSources: Sendable {
    /// How many sources are kept: usually more than there are nodes that publish the same events.
    private static let kept = 16

    private var sources: [EventSource] = []

    package init() {}

    /// The context with the object that is kept for its source, and without `settledBelow`: an importer that starts
    /// again may bring any event again.
    package mutating func adopt(_ context: EventContext, bookmark: WorkerBookmark?) -> EventContext {
        EventContext(
            id: EventID(source: source(like: context.id.source), number: context.id.number),
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            attempt: context.attempt,
            cause: context.cause,
            root: context.root == context.cause ?? context.id ? nil : context.root,
            traceparent: context.traceparent,
            bookmark: bookmark
        )
    }

    private mutating func source(like source: EventSource) -> EventSource {
        if let known = sources.last(where: { $0 == source }) { return known }
        if sources.count == Self.kept { sources.removeFirst() }
        sources.append(source)
        return source
    }
}
