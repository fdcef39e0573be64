import Dispatch

/// Gives the events of all streams to the host, one after the other, in the order of their arrival.
final class HostFeed: Sendable {
    private enum Item: Sendable {
        case event(Waiting)
        /// The place is nil if the stream cannot be read now.
        case begun(Node, ImportPlaces.Place?)
        case awaited(Set<Node>)
    }

    private struct Waiting: Sendable {
        var event: ImportedEvent
        let place: ImportPlaces.Place
        let settled: @Sendable (_ refusal: String?) -> Void
    }

    /// After this many events in a row the feed's task ends a step, so that another thread can run the next step.
    private static let mostInAStep = 64
    /// The time between two attempts while the host has no room.
    static let pause = Duration.milliseconds(100)

    private let items: AsyncStream<Item>.Continuation
    let steps = StepExecutor(DispatchQueue(label: "nats-gateway.feed"))
    /// Ends when the host takes no more events.
    let giving: Task<Void, Never>

    /// - Parameters:
    ///   - places: the places that the host keeps, in the bookmarks of the events; nil if it keeps none.
    ///   - publish: gives an event to the host, and returns when the host has it or never will.
    ///   - report: is called from any thread.
    init(
        places: ImportPlaces?,
        publish: @escaping @Sendable (ImportedEvent) async -> Custody,
        report: @escaping @Sendable (GatewayReport) -> Void
    ) {
        // No more events wait in the stream than the windows of all consumers allow.
        let (stream, continuation) = AsyncStream.makeStream(of: Item.self)
        items = continuation
        giving = Task(executorPreference: steps) {
            var places = places
            var awaited: Set<Node> = []
            var waiting: [Waiting] = []
            var count = 0
            for await item in stream {
                switch item {
                case .awaited(let nodes): if places != nil { awaited = nodes }
                case .begun(let node, let place):
                    if let place { places?.take(place, of: node) }
                    awaited.remove(node)
                case .event(let next): waiting.append(next)
                }
                guard awaited.isEmpty else { continue }
                for var next in waiting {
                    let node = next.event.node
                    next.event.bookmark = places?.bookmark(at: next.place, of: node)
                    switch await Self.give(next.event, by: publish, report) {
                    case .taken:
                        places?.take(next.place, of: node)
                        next.settled(nil)
                    case .refused(let reason): next.settled(reason)
                    // No later event may be taken before this one.
                    case .ended: return
                    }
                    count &+= 1
                    if count.isMultiple(of: Self.mostInAStep) { await Task.yield() }
                }
                waiting.removeAll(keepingCapacity: true)
            }
        }
    }

    /// What became of an event in the end.
    private enum Outcome {
        case taken
        case refused(String)
        case ended
    }

    /// Gives an event again and again until the host has room for it.
    private static func give(
        _ event: ImportedEvent,
        by publish: @Sendable (ImportedEvent) async -> Custody,
        _ report: @Sendable (GatewayReport) -> Void
    ) async -> Outcome {
        var trouble: String?
        while true {
            switch await publish(event) {
            case .taken:
                if let trouble { report(.note("events of other nodes are taken again (\(trouble))")) }
                return .taken
            case .refused(let reason): return .refused(reason)
            case .notNow(let reason):
                if trouble == nil {
                    trouble = reason
                    report(.note("events of other nodes wait: \(reason)"))
                }
                do { try await Task.sleep(for: pause) } catch { return .ended }
            case .ended: return .ended
            case .failed(let reason):
                report(reason)
                return .ended
            }
        }
    }

    /// Gives an event on this thread, if no other thread gives one; only from a thread that may wait.
    ///
    /// This thread then also gives the events of other streams that come meanwhile, but not without an end.
    ///
    /// - Parameter settled: is called once the host has the event, or will never take it; `refusal` then says why.
    func give(
        _ event: ImportedEvent,
        from place: ImportPlaces.Place,
        settled: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        steps.run { items.yield(.event(Waiting(event: event, place: place, settled: settled))) }
    }

    /// Notes that a node's stream is read on behind this place: the bookmarks of all later events have the place.
    ///
    /// Without the place, the next gateway would know none in a stream that has brought no event since this gateway's
    /// start, and would go by what the broker has been told. But the host may have lost some of those events.
    ///
    /// May be called on any thread, because the feed then runs on its queue. Otherwise this thread might have to give
    /// the events of all other streams, for as long as they come.
    ///
    /// - Parameter place: nil if the stream cannot be read now. Then the place stays as the host has named it.
    func begin(_ node: Node, behind place: ImportPlaces.Place?) { items.yield(.begun(node, place)) }

    /// Gives no event before ``begin(_:behind:)`` was called for each of these nodes, if the host keeps places.
    ///
    /// The places that the host has named are out of date, because another gateway has read on since: a bookmark with
    /// one of them would make the next gateway bring again what that gateway has brought.
    func awaitPlaces(in nodes: some Collection<Node>) { items.yield(.awaited(Set(nodes))) }

    func stop() {
        items.finish()
        giving.cancel()
    }
}
