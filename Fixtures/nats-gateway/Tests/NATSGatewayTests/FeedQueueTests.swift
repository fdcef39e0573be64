import Testing

@testable import NATSGateway

@Suite struct FeedQueueTests {
    private let berlin: Node
    private let rome: Node

    init() throws { (berlin, rome) = (try node("berlin"), try node("rome")) }

    private func place(_ sequence: UInt64) -> ImportPlaces.Place { .init(created: 1, sequence: sequence) }

    private func event(of node: Node, _ sequence: UInt64) -> FeedQueue.Item {
        let headers = EventHeaders(id: "\(sequence)", source: "s", name: "Counted", path: [node])
        let event = ImportedEvent(node: node, headers: headers, payload: [])
        return .event(.init(event: event, place: place(sequence)) { _ in })
    }

    /// Takes all events that may be given now, as taken by the host; what the bookmark of each one says.
    private func takeAll(_ queue: inout FeedQueue) -> [[Node: UInt64]] {
        var bookmarks: [[Node: UInt64]] = []
        while let next = queue.next() {
            let known = ImportPlaces(of: [berlin, rome], bookmark: next.event.bookmark).known
            bookmarks.append(known.mapValues(\.sequence))
            queue.take(next)
        }
        return bookmarks
    }

    @Test func eventsComeInTheirOrderWithThePlacesBeforeThem() {
        var queue = FeedQueue(places: ImportPlaces(of: [berlin, rome], bookmark: nil))
        #expect(takeAll(&queue).isEmpty)
        for item in [
            event(of: berlin, 1), .begun(rome, place(6)), event(of: berlin, 2), event(of: rome, 7), .begun(rome, nil),
        ] { queue.append(item) }
        #expect(takeAll(&queue) == [[berlin: 1], [berlin: 2, rome: 6], [berlin: 2, rome: 7]])
    }

    @Test func placeOfAnEventThatTheHostRefusedIsInNoOtherBookmark() {
        var queue = FeedQueue(places: ImportPlaces(of: [berlin, rome], bookmark: nil))
        queue.append(event(of: berlin, 1))
        queue.append(event(of: rome, 1))
        #expect(queue.next()?.event.node == berlin)
        #expect(takeAll(&queue) == [[rome: 1]])
    }

    @Test func eventsWaitForTheAwaitedNodes() {
        var queue = FeedQueue(places: ImportPlaces(of: [berlin, rome], bookmark: nil))
        queue.append(.awaited([berlin, rome]))
        queue.append(event(of: berlin, 3))
        queue.append(.begun(berlin, place(2)))
        #expect(takeAll(&queue) == [])
        queue.append(event(of: berlin, 4))
        queue.append(.begun(rome, place(5)))
        #expect(takeAll(&queue) == [[berlin: 3, rome: 5], [berlin: 4, rome: 5]])
    }

    @Test func withoutPlacesNoEventWaitsAndNoneHasABookmark() {
        var queue = FeedQueue(places: nil)
        queue.append(.awaited([berlin]))
        queue.append(event(of: berlin, 3))
        queue.append(.begun(berlin, place(2)))
        let next = queue.next()
        #expect(next?.event.headers.id == "3" && next?.event.bookmark == nil)
        #expect(takeAll(&queue).isEmpty)
    }
}
