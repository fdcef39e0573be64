/// The sources of other machines whose events came last, each as one object.
///
/// Events that come one by one name their source by its bytes. An outbox that keeps many of them keeps one object for
/// all.
package struct ForeignSources: Sendable {
    /// How many sources are kept: more than nodes mostly have publishers of the same events.
    private static let kept = 16

    private var sources: [EventSource] = []

    package init() {}

    /// The context with the one object of its source, and without a settled mark: an importer that starts again may
    /// bring any event again.
    package mutating func adopt(_ context: EventContext, bookmark: WorkerBookmark?) -> EventContext {
        EventContext(
            id: EventID(source: source(like: context.id.source), number: context.id.number),
            nanosecondsSinceEpoch: context.nanosecondsSinceEpoch,
            attempt: context.attempt,
            cause: context.cause,
            root: context.cause == nil || context.root == context.cause ? nil : context.root,
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
