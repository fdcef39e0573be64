import CNATS
import LocalBroker
import Testing

@testable import NATSGateway

/// A reader that is slow, and a reader whose consumer is removed.
@Suite(.enabled(if: Broker.isInstalled, "nats-server is not installed"), .timeLimit(.minutes(3)), .serialized)
struct GatewayFlowTests {
    private func client(_ broker: Broker) async throws -> NATSConnection {
        try await NATSConnection.connected(to: broker.url)
    }

    @Test func slowReaderIsSentAWindowAndNoMore() async throws {
        let broker = try Broker()
        try broker.start()
        let (berlin, paris) = (try node("berlin"), try node("paris"))
        let writer = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        let ids = (1...2_000).map { "event-\($0)" }
        for id in ids { writer.export(id) }
        await writer.wait { $0.acknowledged.count == ids.count }
        let isOpen = Changing(false)
        let arrivals = Changing<[String]>([])
        var configuration = GatewayConfiguration(node: paris)
        configuration.url = broker.url
        configuration.imports = [berlin: ["Counted"]]
        let gateway = try Gateway(
            configuration,
            owner: "test",
            publish: { event in
                arrivals.change { $0.append(event.headers.id) }
                await isOpen.wait { $0 }
                return .taken
            },
            report: { _ in }
        )
        defer { gateway.stop() }
        let client = try await client(broker)
        defer { client.close() }
        // This waits until the broker has sent all that it sends before the first event is taken.
        while try client.look(at: berlin, by: paris).delivered < 256 { try Task.checkCancellation() }
        #expect(try client.look(at: berlin, by: paris).delivered == 256)
        await arrivals.wait { !$0.isEmpty }
        #expect(arrivals.value == ["event-1"])
        isOpen.change { $0 = true }
        await arrivals.wait { $0.count == ids.count }
        #expect(arrivals.value == ids)
    }

    @Test func requestBringsTheAnswerOrSaysThatThereIsNoStream() async throws {
        let broker = try Broker()
        try broker.start()
        let client = try await client(broker)
        defer { client.close() }
        let berlin = try node("berlin")
        let subject = berlin.subject(of: "Counted")
        let error = #expect(throws: NATSError.self) { _ = try client.request(to: subject, headers: [], [0xF6]) }
        #expect(error?.status == NATS_NO_RESPONDERS)
        _ = try client.tail(of: berlin, withRecent: false, limits: .init(bytes: 1 << 20, age: 1))
        let answer = try client.request(
            to: subject,
            headers: [HeaderField(name: EventHeaders.identityField, value: "event-1")],
            [0xF6]
        )
        #expect(answer.map { PublishAnswer(json: $0) } == .stored)
    }

    @Test func lookAtTheLastMessagesLeavesOutThoseOfAnEarlierLook() async throws {
        let broker = try Broker()
        try broker.start()
        let writer = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        let ids = (1...20).map { "event-\($0)" }
        for id in ids { writer.export(id) }
        await writer.wait { $0.acknowledged.count == ids.count }
        let client = try await client(broker)
        defer { client.close() }
        let berlin = try node("berlin")
        // This consumer brings the last message as soon as the look listens.
        try client.makeConsumer("left", of: berlin, start: 20, deliverTo: "\(client.inbox).recent")
        let tail = try client.tail(of: berlin, withRecent: true, limits: .init(bytes: 1 << 20, age: 1))
        #expect(tail.recent == Set(ids))
    }

    @Test func consumerThatAnOperatorRemovesIsMadeAgain() async throws {
        let broker = try Broker()
        try broker.start()
        let (berlin, paris) = (try node("berlin"), try node("paris"))
        let writer = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        let reader = try NodeUnderTest("paris", broker) { $0.imports = [berlin: ["Counted"]] }
        writer.export("event-1")
        await reader.wait { $0.arrivals == ["event-1"] }
        let client = try await client(broker)
        defer { client.close() }
        for number in try client.look(at: berlin, by: paris).consumers {
            try client.removeConsumer(paris.consumer(number), of: berlin)
        }
        writer.export("event-2")
        // The missing heartbeats make the gateway look.
        await reader.wait { $0.arrivals == ["event-1", "event-2"] }
    }
}
