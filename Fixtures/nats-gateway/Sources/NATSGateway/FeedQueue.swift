/// What waits to be given to the host, in the order of its arrival, and the places that go with it.
struct FeedQueue {
    enum Item {
        case event(Waiting)
        /// The place is nil if the stream cannot be read now.
        case begun(Node, ImportPlaces.Place?)
        /// No event is given before each of these nodes has begun.
        case awaited(Set<Node>)
    }

    struct Waiting {
        var event: ImportedEvent
        let place: ImportPlaces.Place
        let settled: @Sendable (_ refusal: String?) -> Void
    }

    /// The places that the host keeps; nil if it keeps none.
    private var places: ImportPlaces?
    private var items = Fifo<Item>()
    private var awaited: Set<Node> = []
    /// The events that wait for the nodes in `awaited`, or for the event before them.
    private var waiting = Fifo<Waiting>()

    init(places: ImportPlaces?) { self.places = places }

    mutating func append(_ item: Item) { items.append(item) }

    /// Takes out the next event, with its bookmark; nil if none may be given now.
    mutating func next() -> Waiting? {
        while waiting.isEmpty || !awaited.isEmpty {
            guard let item = items.popFirst() else { return nil }
            switch item {
            case .event(let next): waiting.append(next)
            case .begun(let node, let place):
                if let place { places?.take(place, of: node) }
                awaited.remove(node)
            case .awaited(let nodes): if places != nil { awaited = nodes }
            }
        }
        guard var next = waiting.popFirst() else { return nil }
        next.event.bookmark = places?.bookmark(at: next.place, of: next.event.node)
        return next
    }

    /// Notes that the host has an event.
    mutating func take(_ event: Waiting) { places?.take(event.place, of: event.event.node) }
}
