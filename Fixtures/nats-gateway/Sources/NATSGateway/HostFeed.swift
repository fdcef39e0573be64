/// Gives the events of all streams to the host, one after the other, in the order of their arrival.
final class HostFeed: Sendable {
    private enum Item: Sendable {
        case event(ImportedEvent, ImportPlaces.Place, settled: @Sendable (_ refusal: String?) -> Void)
        case overtaken
    }

    private let items: AsyncStream<Item>.Continuation
    private let giving: Task<Void, Never>

    /// - Parameters:
    ///   - places: the places that the host keeps, in the bookmarks of the events; nil if it keeps none.
    ///   - publish: gives an event to the host, and returns when the host has it or never will.
    init(places: ImportPlaces?, publish: @escaping @Sendable (ImportedEvent) async -> Custody) {
        // No more than the windows of all consumers wait here.
        let (stream, continuation) = AsyncStream.makeStream(of: Item.self)
        items = continuation
        giving = Task {
            var places = places
            for await item in stream {
                switch item {
                case .overtaken: places?.forget()
                case .event(var event, let place, let settled):
                    event.bookmark = places?.bookmark(at: place, of: event.node)
                    switch await publish(event) {
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

    /// - Parameter settled: is called once the host has the event, or will never take it, and why.
    func give(
        _ event: ImportedEvent,
        from place: ImportPlaces.Place,
        settled: @escaping @Sendable (_ refusal: String?) -> Void
    ) {
        items.yield(.event(event, place, settled: settled))
    }

    /// Another process has gone on from the places that the host knew: they do not count for later events.
    func overtake() { items.yield(.overtaken) }

    func stop() {
        items.finish()
        giving.cancel()
    }
}
