import LocalBroker
import Testing

@testable import NATSGateway

/// Where a gateway that knows its host's last bookmark goes on reading; with a real broker.
@Suite(.enabled(if: Broker.isInstalled, "nats-server is not installed"), .timeLimit(.minutes(3)), .serialized)
struct GatewayPlacesTests {
    /// Returns when the broker knows that paris has handled the first `count` messages of a stream.
    private func wait(for count: UInt64, of node: Node, _ broker: Broker) async throws -> ImportLook {
        let client = try await NATSConnection.connected(to: broker.url)
        defer { client.close() }
        while true {
            let look = try client.look(at: node, by: try NATSGatewayTests.node("paris"))
            if look.floor >= count { return look }
            try Task.checkCancellation()
        }
    }

    /// A broker to which a gateway of berlin has exported three events.
    private func brokerWithThreeEvents() throws -> (Broker, Node, NodeUnderTest) {
        let broker = try Broker()
        try broker.start()
        let berlin = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        for number in 1...3 { berlin.export("event-\(number)") }
        return (broker, try node("berlin"), berlin)
    }

    @Test func replacementGoesOnBehindTheReplacedGatewayAndALaterOneBehindTheBookmark() async throws {
        let (broker, other, berlin) = try brokerWithThreeEvents()
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker, owner: "x") { $0.imports = [other: ["Counted"]] }
        await first?.wait { $0.arrivals.count == 3 }
        let created = try await wait(for: 3, of: other, broker).created
        // When the second gateway began, the host had only the first event.
        let bookmark = ImportPlaces.bookmark([other: .init(created: created, sequence: 1)])
        let places = ImportPlaces(of: [other], bookmark: bookmark)
        var second: NodeUnderTest? = try NodeUnderTest("paris", broker, owner: "x", places: places) {
            $0.imports = [other: ["Counted"]]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        await second?.wait { !$0.sentences.isEmpty }
        first = nil
        berlin.export("event-4")
        await second?.wait { $0.arrivals.last == "event-4" }
        #expect(second?.arrivals == ["event-4"])
        #expect(second?.sentences == ["waits for the end of the gateway before this one"])
        second = nil
        let third = try NodeUnderTest("paris", broker, places: places) { $0.imports = [other: ["Counted"]] }
        await third.wait { $0.arrivals.last == "event-4" }
        #expect(third.arrivals == ["event-2", "event-3", "event-4"])
    }

    @Test func bookmarksGetThePlaceInAStreamThatBringsNoEvent() async throws {
        let broker = try Broker()
        try broker.start()
        let (berlin, rome) = (try node("berlin"), try node("rome"))
        let romeWriter = try NodeUnderTest("rome", broker) { $0.exports = ["Counted"] }
        romeWriter.export("rome-1")
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker) { $0.imports = [rome: ["Counted"]] }
        await first?.wait { $0.arrivals == ["rome-1"] }
        let created = try await wait(for: 1, of: rome, broker).created
        first = nil
        let known = Changing<[Node: ImportPlaces.Place]>([:])
        let second = try NodeUnderTest("paris", broker, places: ImportPlaces(of: [berlin, rome], bookmark: nil)) {
            let bookmark = $0.bookmark
            known.change { $0 = ImportPlaces(of: [berlin, rome], bookmark: bookmark).known }
            return .taken
        } configure: {
            $0.imports = [berlin: ["Counted"], rome: ["Counted"]]
        }
        let writer = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        // The gateway may look at rome's stream after the first events from berlin.
        var number = 0
        while known.value[rome] == nil {
            try Task.checkCancellation()
            number += 1
            writer.export("berlin-\(number)")
            let last = "berlin-\(number)"
            await second.wait { $0.arrivals.last == last }
        }
        #expect(known.value[rome] == .init(created: created, sequence: 1))
        #expect(!second.arrivals.contains("rome-1"))
    }

    @Test func hostThatLosesTheFirstEventsOfAStreamGetsThemAgain() async throws {
        let (broker, other, berlin) = try brokerWithThreeEvents()
        // The host keeps places, but is killed each time before its journal has an event.
        let places = ImportPlaces(of: [other], bookmark: nil)
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker, places: places) {
            $0.imports = [other: ["Counted"]]
        }
        await first?.wait { $0.arrivals.count == 3 }
        _ = try await wait(for: 3, of: other, broker)
        first = nil
        var second: NodeUnderTest? = try NodeUnderTest("paris", broker, places: places) {
            $0.imports = [other: ["Counted"]]
        }
        berlin.export("event-4")
        await second?.wait { $0.arrivals.last == "event-4" }
        #expect(second?.arrivals == ["event-1", "event-2", "event-3", "event-4"])
        _ = try await wait(for: 4, of: other, broker)
        second = nil
        let repeats = Changing<[Bool]>([])
        let third = try NodeUnderTest("paris", broker, places: places) { event in
            repeats.change { $0.append(event.mayBeRepeat) }
            return .taken
        } configure: {
            $0.imports = [other: ["Counted"]]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        berlin.export("event-5")
        await third.wait { $0.arrivals.last == "event-5" }
        await repeats.wait { $0.count == third.arrivals.count }
        #expect(third.arrivals == ["event-1", "event-2", "event-3", "event-4", "event-5"])
        #expect(repeats.value == [true, true, true, true, false])
        #expect(third.sentences.count == 1)
    }

    @Test func hostThatHasHadTheTimeToKeepAPlaceGetsNoEventAgain() async throws {
        let (broker, other, berlin) = try brokerWithThreeEvents()
        // The host's journal records no imported event, so there is never a bookmark.
        let places = ImportPlaces(of: [other], bookmark: nil)
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker, places: places) {
            $0.imports = [other: ["Counted"]]
            $0.keepingTime = .milliseconds(1)
        }
        await first?.wait { $0.arrivals.count == 3 }
        while try await wait(for: 3, of: other, broker).unkept != nil { try Task.checkCancellation() }
        #expect(first?.arrivals.count == 3)
        first = nil
        let second = try NodeUnderTest("paris", broker, places: places) { $0.imports = [other: ["Counted"]] }
        berlin.export("event-4")
        await second.wait { $0.arrivals.last == "event-4" }
        #expect(second.arrivals == ["event-4"])
        #expect(try await wait(for: 4, of: other, broker).unkept == 3)
    }

    @Test func replacementWritesNoPlaceThatTheReplacedGatewayHasPassed() async throws {
        let broker = try Broker()
        try broker.start()
        let (berlin, rome) = (try node("berlin"), try node("rome"))
        let writers = try ["berlin", "rome"].map { name in
            try NodeUnderTest(name, broker) { $0.exports = ["Counted"] }
        }
        for number in 1...3 { for writer in writers { writer.export("event-\(number)") } }
        let client = try await NATSConnection.connected(to: broker.url)
        defer { client.close() }
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker, owner: "x") {
            $0.imports = [berlin: ["Counted"], rome: ["Counted"]]
        }
        await first?.wait { $0.arrivals.count == 6 }
        let created = try await wait(for: 3, of: berlin, broker).created
        let other = try await wait(for: 3, of: rome, broker).created
        // The bookmark has the places that the host had when the second gateway began.
        let bookmark = ImportPlaces.bookmark([
            berlin: .init(created: created, sequence: 1), rome: .init(created: other, sequence: 1),
        ])
        let bookmarks = Changing<[[Node: UInt64]]>([])
        let places = ImportPlaces(of: [berlin, rome], bookmark: bookmark)
        let second = try NodeUnderTest("paris", broker, owner: "x", places: places) { event in
            let known = ImportPlaces(of: [berlin, rome], bookmark: event.bookmark).known
            bookmarks.change { $0.append(known.mapValues(\.sequence)) }
            return .taken
        } configure: {
            $0.imports = [berlin: ["Counted"], rome: ["Counted"]]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        await second.wait { !$0.sentences.isEmpty }
        // With these consumers, the look at rome's stream takes far longer than the look at berlin's.
        for number: UInt64 in 1_000..<1_400 {
            let name = try node("paris").consumer(number)
            try client.makeConsumer(name, of: rome, start: 1, deliverTo: "unheard.\(number)")
        }
        first = nil
        writers[0].export("event-4")
        await bookmarks.wait { !$0.isEmpty }
        #expect(bookmarks.value.first == [berlin: 4, rome: 3])
    }
}
