import Dispatch
import Foundation
import LocalBroker
import Testing

@testable import NATSGateway

/// Gateways whose connection to a real broker is bad, or leads to something that is no broker.
@Suite(.enabled(if: Broker.isInstalled, "nats-server is not installed"), .timeLimit(.minutes(3)), .serialized)
struct GatewayNetworkTests {
    private func expectAllPass(_ count: Int, over relay: BrokerRelay, _ broker: Broker, _ comment: Comment) async throws
    {
        let other = try node("berlin")
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.url = relay.url
        }
        let paris = try NodeUnderTest("paris", broker) {
            $0.imports = [other: ["Counted"]]
            $0.url = relay.url
        }
        let ids = (1...count).map { "event-\($0)" }
        for id in ids { berlin.export(id) }
        await berlin.wait { $0.acknowledged.count >= count || $0.isEnded }
        await paris.wait { $0.arrivals.count >= count || $0.isEnded }
        for node in [berlin, paris] { #expect(!node.isEnded, "\(comment): \(node.sentences)") }
        #expect(berlin.acknowledged == ids, comment)
        // Once the broker knows that all events have come, it repeats none.
        let client = try await NATSConnection.connected(to: broker.url)
        defer { client.close() }
        let reader = try node("paris")
        while try client.look(at: other, by: reader).floor < count { try Task.checkCancellation() }
        #expect(paris.arrivals == ids, comment)
    }

    @Test(arguments: [1, 7, 1 << 16]) func eventsPassInPiecesOfAnySize(_ piece: Int) async throws {
        let broker = try Broker()
        try broker.start()
        let relay = try BrokerRelay(to: broker) { _ in .passing(piece: piece, cutAfter: nil) }
        try await expectAllPass(40, over: relay, broker, "pieces of \(piece)")
    }

    @Test(arguments: [21, 22, 23] as [UInt64])
    func connectionsThatAreCutWithinMessagesLoseAndRepeatNothing(_ seed: UInt64) async throws {
        let broker = try Broker()
        try broker.start()
        // The first connections are cut while they begin, later ones among the messages, and those from 16 on never.
        let relay = try BrokerRelay(to: broker) { number in
            var random = SeededGenerator(seed << 8 + UInt64(number))
            let isCut = number < 16
            return .passing(piece: 1 << 16, cutAfter: isCut ? 1 + random.next(below: 500 << (number / 2)) : nil)
        }
        try await expectAllPass(600, over: relay, broker, "seed \(seed)")
        #expect(relay.cuts.value > 0)
    }

    @Test func connectionThatReadsIsMadeAgainAndLosesAndRepeatsNothing() async throws {
        let broker = try Broker()
        try broker.start()
        // The first connection asks, all others read: the first two of them are cut as they begin, the next five later.
        let relay = try BrokerRelay(to: broker) { number in
            let limits = [nil, 1, 1, 4_000, 4_000, 4_000, 4_000, 4_000]
            return .passing(piece: 1 << 16, cutAfter: number < limits.count ? limits[number] : nil)
        }
        let other = try node("berlin")
        let berlin = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        let paris = try NodeUnderTest("paris", broker) {
            $0.imports = [other: ["Counted"]]
            $0.url = relay.url
        }
        let ids = (1...300).map { "event-\($0)" }
        for id in ids { berlin.export(id) }
        await paris.wait { $0.arrivals.count >= ids.count || $0.isEnded }
        #expect(paris.arrivals == ids)
        #expect(relay.cuts.value == 7)
        #expect(paris.sentences.contains { $0.hasPrefix("there is no connection to read from the broker: ") })
    }

    @Test func brokerIsFoundAmongSeveralAddresses() async throws {
        let broker = try Broker()
        try broker.start()
        let url = "nats://127.0.0.1:\(try Broker.freePort()),\(broker.url)"
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.url = url
        }
        berlin.export("event-1")
        await berlin.wait { $0.acknowledged == ["event-1"] }
    }

    @Test func addressesThatSayNothingHoldUpNoStart() async throws {
        let broker = try Broker()
        try broker.start()
        let reached = Changing(0)
        // The client waits two seconds for each address that says nothing.
        let relays = try (1...3).map { _ in
            try BrokerRelay(to: broker) { number in
                reached.change { $0 += 1 }
                return number == 0 ? .silent : .passing(piece: 1 << 16, cutAfter: nil)
            }
        }
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.url = relays.map(\.url).joined(separator: ",")
        }
        #expect(reached.value < relays.count)
        berlin.export("event-1")
        await berlin.wait { $0.acknowledged == ["event-1"] }
    }

    @Test func questionThatIsCutIsNoAnswer() async throws {
        let broker = try Broker()
        try broker.start()
        var first: NodeUnderTest? = try NodeUnderTest("berlin", broker, owner: "x") { $0.exports = ["Counted"] }
        first?.export("event-1")
        await first?.wait { $0.acknowledged == ["event-1"] }
        let relay = try BrokerRelay(to: broker) { number in
            number == 0
                ? .cutting(before: Array("bridge-gateway.berlin".utf8)) : .passing(piece: 1 << 16, cutAfter: nil)
        }
        let second = try NodeUnderTest("berlin", broker, owner: "x") {
            $0.exports = ["Counted"]
            $0.url = relay.url
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        second.export("event-2")
        await second.wait { !$0.sentences.isEmpty || !$0.acknowledged.isEmpty }
        #expect(second.sentences == ["waits for the end of the gateway before this one"])
        first = nil
        await second.wait { $0.acknowledged == ["event-2"] }
    }

    @Test func streamThatTheBrokerIsStillMakingIsLookedAtAgain() async throws {
        let broker = try Broker()
        try broker.start()
        let other = try node("berlin")
        let berlin = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        berlin.export("event-1")
        await berlin.wait { $0.acknowledged == ["event-1"] }
        // The relay changes the first answer about the stream to what nats-server says before the stream has its time.
        let isChanged = Changing(false)
        let relay = try BrokerRelay(to: broker) { _ in
            .changing { answer in
                let text = String(decoding: answer, as: UTF8.self)
                guard !isChanged.value, text.contains("stream_info_response"),
                    let time = text.firstMatch(of: #/"created":("[^"]*")/#)?.output.1
                else { return answer }
                isChanged.change { $0 = true }
                let zero = #""0001-01-01T00:00:00Z""#.padding(toLength: time.count, withPad: " ", startingAt: 0)
                return Array(text.replacingOccurrences(of: time, with: zero).utf8)
            }
        }
        let paris = try NodeUnderTest("paris", broker) {
            $0.imports = [other: ["Counted"]]
            $0.url = relay.url
        }
        await paris.wait { $0.arrivals == ["event-1"] }
        #expect(isChanged.value)
        broker.kill()
        try broker.start()
        berlin.export("event-2")
        await paris.wait { $0.arrivals.last == "event-2" }
        #expect(paris.arrivals == ["event-1", "event-2"])
        #expect(paris.sentences.filter { $0.contains("another one") }.isEmpty)
    }

    @Test func singleEventIsSentAsARequest() async throws {
        let broker = try Broker()
        try broker.start()
        let connections = Changing(0)
        // A message that is sent by `publish`, not as a request, names the round and the number of its answer.
        let relay = try BrokerRelay(to: broker) { number in
            connections.change { $0 = number + 1 }
            return .cutting(before: Array(".stored.1.0".utf8))
        }
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.url = relay.url
        }
        berlin.export("event-1")
        await berlin.wait { $0.acknowledged == ["event-1"] }
        #expect(connections.value == 1)
    }

    @Test func whyThereIsNoConnectionIsSaidOnceForEachReason() async throws {
        let broker = try Broker()
        // Nothing listens, so each attempt fails at once.
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        berlin.export("event-1")
        await berlin.wait { !$0.sentences.isEmpty }
        try broker.start()
        await berlin.wait { $0.acknowledged == ["event-1"] }
        #expect(berlin.sentences.allSatisfy { $0.hasPrefix("there is no connection to the broker: ") })
        #expect(Set(berlin.sentences).count == berlin.sentences.count, "\(berlin.sentences)")
    }

    @Test func addressThatIsNoneEndsTheGateway() async throws {
        let broker = try Broker()
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.url = "nats://127.0.0.1:port"
        }
        await berlin.wait { $0.isEnded }
        #expect(berlin.sentences.contains { $0.contains("the connection to the broker is closed: Invalid Argument") })
    }

    @Test func brokerThatRefusesTheUserEndsTheGateway() async throws {
        let info = Array((#"INFO {"server_id":"x","version":"2.9.10","headers":true}"# + "\r\n").utf8)
        let refusal = Array("-ERR 'Authorization Violation'\r\n".utf8)
        let broker = try Broker()
        let relay = try BrokerRelay(to: broker) { _ in .hostile(first: info, second: refusal) }
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.url = relay.url
        }
        await berlin.wait { $0.isEnded }
        #expect(berlin.sentences.contains { $0.contains("Authorization Violation") })
    }

    @Test func whatIsNoBrokerIsLeftAndTheBrokerIsFound() async throws {
        let broker = try Broker()
        try broker.start()
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        let info = text(#"INFO {"server_id":"x","version":"2.9.10","headers":true,"max_payload":1048576}"# + "\r\n")
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 10 << 20)
        let lies = [
            "MSG bridge.berlin.Counted 1 99999999999999999999\r\n", "MSG a 1 -5\r\nhello\r\n", "MSG\r\n",
            "MSG a 4711 5\r\nhello\r\n", "HMSG a 1 5 2\r\nNATS/1.0\r\n", "HMSG a 1 12 4\r\nNATS/1.0\r\n\r\n",
            "HMSG a 1 99999999 99999999\r\n", "-ERR 'Authorization Violation'\r\n", "-ERR 'Stale Connection'\r\n",
            "\0\0\0\0\r\n", "INFO {\r\n",
        ]
        let habits: [BrokerRelay.Habit] =
            [
                .hostile(first: text("INFO ") + long + [13, 10], second: []), .hostile(first: [0, 1, 2], second: []),
                .hostile(first: text("INFO {}\r\n"), second: text("PONG\r\n") + long),
                .hostile(first: [], second: long),
            ] + lies.map { .hostile(first: info, second: text("PONG\r\n") + text($0)) }
        // Each hostile connection goes to one of the two gateways.
        let relay = try BrokerRelay(to: broker) { number in
            number < habits.count ? habits[number] : .passing(piece: 1 << 16, cutAfter: nil)
        }
        try await expectAllPass(40, over: relay, broker, "hostile brokers")
    }

    @Test func connectionThatCannotSubscribeIsClosedAndMadeAnew() async throws {
        let broker = try Broker()
        try broker.start()
        let connections = Changing(0)
        let relay = try BrokerRelay(to: broker) { number in
            connections.change { $0 = number + 1 }
            return .passing(piece: 1 << 16, cutAfter: nil)
        }
        let connection = try NATSConnection(.test(relay.url), writesAtOnce: true)
        // The client refuses an empty subject, without asking the broker.
        try connection.subscribe(to: "") { _ in }
        let wereClosed = Changing<[Bool]>([])
        let isEnded = Changing(false)
        connection.open(on: DispatchQueue(label: "test")) { change in
            switch change {
            case .failed: wereClosed.change { $0.append(connection.client == nil) }
            case .closed: isEnded.change { $0 = true }
            case .connected, .disconnected: break
            }
        }
        await connections.wait { $0 >= 3 }
        connection.close()
        #expect(!wereClosed.value.isEmpty && wereClosed.value.allSatisfy { $0 })
        #expect(!isEnded.value)
    }

    @Test func readerThatCannotSubscribeSaysSo() async throws {
        let broker = try Broker()
        try broker.start()
        let reader = MessageReader(.test(broker.url))
        reader.subscribe(to: "") { _ in }
        let failures = Changing(0)
        let isEnded = Changing(false)
        reader.open { change in
            switch change {
            case .failed: failures.change { $0 += 1 }
            case .closed: isEnded.change { $0 = true }
            case .connected, .disconnected: break
            }
        }
        await failures.wait { $0 >= 2 }
        reader.close()
        #expect(!isEnded.value)
    }

    @Test func readerPausesOnceBehindTheMessagesThatCameTogether() async throws {
        let broker = try Broker()
        try broker.start()
        let reader = MessageReader(.test(broker.url))
        let happenings = Changing<[String]>([])
        reader.subscribe(
            to: "subject",
            { _ in happenings.change { $0.append("message") } },
            pause: { happenings.change { $0.append("pause") } }
        )
        let isConnected = Changing(false)
        reader.open { if case .connected = $0 { isConnected.change { $0 = true } } }
        await isConnected.wait { $0 }
        let client = try await NATSConnection.connected(to: broker.url)
        for round in 1...3 {
            // At first the broker may not have the subscription yet.
            while happenings.value.count(where: { $0 == "pause" }) < round {
                try client.publish(to: "subject", text: "x")
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        client.close()
        reader.close()
        let all = happenings.value
        #expect(all.first == "message")
        #expect(!zip(all, all.dropFirst()).contains { $0 == "pause" && $1 == "pause" })
    }

    @Test func readerPausesForOneSubjectWhileAnotherHasMessagesWithoutAnEnd() async throws {
        let broker = try Broker()
        try broker.start()
        let client = try await NATSConnection.connected(to: broker.url)
        let reader = MessageReader(.test(broker.url))
        let hasPaused = Changing(false)
        reader.subscribe(to: "lone", { _ in }, pause: { hasPaused.change { $0 = true } })
        // Each message is followed by another one, until the other subject has had its pause.
        reader.subscribe(to: "busy") { _ in
            if !hasPaused.value { try? client.publish(to: "busy", text: "x") }
        }
        let isConnected = Changing(false)
        reader.open { if case .connected = $0 { isConnected.change { $0 = true } } }
        await isConnected.wait { $0 }
        while !hasPaused.value {
            try client.publish(to: "busy", text: "x")
            try client.publish(to: "lone", text: "x")
            try await Task.sleep(for: .milliseconds(5))
        }
        client.close()
        reader.close()
    }
}
