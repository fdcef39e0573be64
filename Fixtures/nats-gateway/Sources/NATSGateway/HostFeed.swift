import Dispatch

/// Gives the events of all streams to the host, one after the other, in the order of their arrival.
final class HostFeed: Sendable {
    private enum Item: Sendable {
        case event(ImportedEvent, ImportPlaces.Place, settled: @Sendable (_ refusal: String?) -> Void)
        case begun(Node, ImportPlaces.Place)
    }

    /// Between two attempts while the host has no room.
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
        // No more events wait here than the windows of all consumers allow.
        let (stream, continuation) = AsyncStream.makeStream(of: Item.self)
        items = continuation
        giving = Task(executorPreference: steps) {
            var places = places
            for await item in stream {
                switch item {
                case .begun(let node, let place): places?.take(place, of: node)
                case .event(var event, let place, let settled):
                    event.bookmark = places?.bookmark(at: place, of: event.node)
                    switch await Self.give(event, by: publish, report) {
                    case .taken:
                        places?.take(place, of: event.node)
                        settled(nil)
                    case .refused(let reason): settled(reason)
                    // No later event may be taken before this one.
                    case .ended: return
                    }
                }
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
    /// - Parameter settled: is called once the host has the event, or will never take it; `refusal` then says why.
    func give(
        _ event: ImportedEvent,
        from place: ImportPlaces.Place,
        settled: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        steps.run { items.yield(.event(event, place, settled: settled)) }
    }

    /// A node's stream is read on behind this place: the bookmarks of all later events have it.
    ///
    /// Without it, the next gateway would know no place in a stream that has brought no event since this one's start,
    /// and would go by what the broker has been told. The host may have lost events behind that.
    ///
    /// May be called on any thread: the feed goes on on its queue. This thread might otherwise have to give the events
    /// of all other streams, for as long as they come.
    func begin(_ node: Node, behind place: ImportPlaces.Place) { items.yield(.begun(node, place)) }

    func stop() {
        items.finish()
        giving.cancel()
    }
}
