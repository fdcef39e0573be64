import LocalBroker
import Testing

@testable import NATSGateway
@testable import nats_gateway

/// Gateways with a real broker.
@Suite(.enabled(if: Broker.isInstalled, "nats-server is not installed"), .timeLimit(.minutes(3)), .serialized)
struct GatewayTests {
    private func sender(_ broker: Broker, _ name: String = "berlin") throws -> NodeUnderTest {
        try NodeUnderTest(name, broker) { $0.exports = ["Counted"] }
    }

    private func receiver(_ broker: Broker, _ name: String = "paris", of others: String...) throws -> NodeUnderTest {
        let nodes = try (others.isEmpty ? ["berlin"] : others).map { (try node($0), Set(["Counted"])) }
        return try NodeUnderTest(name, broker) { $0.imports = Dictionary(uniqueKeysWithValues: nodes) }
    }

    private static func ids(_ range: ClosedRange<Int>) -> [String] { range.map { "event-\($0)" } }

    /// Compares without printing thousands of identities.
    private func expect(_ found: [String], _ wanted: [String], _ what: Comment) {
        let difference = zip(found, wanted).enumerated().first { $0.element.0 != $0.element.1 }
        #expect(found.count == wanted.count && difference == nil, what)
    }

    @Test func eventsArriveInOrderEachOnce() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        let paris = try receiver(broker)
        let ids = Self.ids(1...5_000)
        for id in ids { berlin.export(id) }
        await paris.wait { $0.arrivals.count >= ids.count }
        await berlin.wait { $0.acknowledged.count >= ids.count }
        expect(paris.arrivals, ids, "arrivals")
        expect(berlin.acknowledged, ids, "acknowledged")
        #expect(berlin.sentences.isEmpty)
    }

    @Test func brokerThatComesLaterIsWaitedFor() async throws {
        let broker = try Broker()
        let berlin = try sender(broker)
        let paris = try receiver(broker)
        berlin.export("event-1")
        #expect(berlin.acknowledged.isEmpty)
        try broker.start()
        await paris.wait { $0.arrivals == ["event-1"] }
        await berlin.wait { $0.acknowledged == ["event-1"] }
    }

    @Test(arguments: [11, 12] as [UInt64]) func killsOfTheBrokerLoseAndRepeatNothing(_ seed: UInt64) async throws {
        var random = SeededGenerator(seed)
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        let paris = try receiver(broker)
        var next = 1
        for _ in 1...3 {
            let last = next + 400 + random.next(below: 800)
            for id in Self.ids(next...last) { berlin.export(id) }
            // The broker is killed while these events are on their way.
            let threshold = next + random.next(below: last - next)
            await berlin.wait { $0.acknowledged.count >= threshold }
            broker.kill()
            try broker.start()
            next = last + 1
        }
        let ids = Self.ids(1...next - 1)
        await berlin.wait { $0.acknowledged.count >= ids.count }
        await paris.wait { $0.arrivals.count >= ids.count }
        expect(berlin.acknowledged, ids, "acknowledged, seed \(seed)")
        expect(paris.arrivals, ids, "arrivals, seed \(seed)")
    }

    @Test func gatewayThatBeginsGoesOnWhereTheLastOneEnded() async throws {
        let broker = try Broker()
        try broker.start()
        let ids = Self.ids(1...600)
        var first: NodeUnderTest? = try sender(broker)
        var reader: NodeUnderTest? = try receiver(broker)
        for id in ids[..<300] { first?.export(id) }
        await first?.wait { $0.acknowledged.count == 300 }
        await reader?.wait { $0.arrivals.count == 300 }
        // The last acknowledgement may still be on its way to the broker.
        let client = try await client(broker)
        let (berlin, parisNode) = (try node("berlin"), try node("paris"))
        while try client.look(at: berlin, by: parisNode).floor < 300 { try Task.checkCancellation() }
        client.close()
        first = nil
        reader = nil
        // The host gives again the events that are not handled, as far as the host knows.
        let second = try sender(broker)
        for id in ids[100..<300] { second.export(id, isRepeat: true) }
        for id in ids[300...] { second.export(id) }
        let paris = try receiver(broker)
        await second.wait { $0.acknowledged.count == 500 }
        await paris.wait { $0.arrivals.last == ids.last }
        expect(paris.arrivals, Array(ids[300...]), "arrivals of the second reader")
    }

    @Test func brokerThatForgotTheLastIdentityIsNoOtherWriter() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        let paris = try receiver(broker)
        berlin.export("event-1")
        await berlin.wait { $0.acknowledged == ["event-1"] }
        // The window for duplicates is so short that the server knows no identity after its restart.
        try await setDuplicateWindow(of: "BRIDGE-berlin", broker)
        broker.kill()
        try broker.start()
        berlin.export("event-2")
        await paris.wait { $0.arrivals == ["event-1", "event-2"] }
        #expect(berlin.sentences.filter { $0.contains("another gateway") }.isEmpty)
    }

    @Test func fullStreamHoldsEventsBackUntilThereIsRoom() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try NodeUnderTest("berlin", broker) {
            $0.exports = ["Counted"]
            $0.streamBytes = 1 << 16
        }
        let payload = [UInt8](repeating: 0x20, count: 4_096)
        let ids = Self.ids(1...40)
        for id in ids { berlin.export(id, payload: payload) }
        await berlin.wait { $0.sentences.contains { $0.contains("maximum bytes exceeded") } }
        let count = berlin.acknowledged.count
        #expect((1...16).contains(count))
        try await purge("BRIDGE-berlin", broker)
        await berlin.wait { $0.acknowledged.count > count }
        expect(berlin.acknowledged, Array(ids.prefix(berlin.acknowledged.count)), "acknowledged")
    }

    @Test func eventThatIsTooLargeForTheBrokerIsRefused() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        berlin.export("small")
        berlin.export("large", payload: [UInt8](repeating: 0x20, count: 2 << 20))
        berlin.export("next")
        await berlin.wait { $0.acknowledged == ["small", "next"] }
        #expect(
            berlin.happenings.contains { if case .settled("large", let refusal) = $0 { refusal != nil } else { false } }
        )
    }

    @Test func secondGatewayOfANodeEndsAndTheFirstGoesOn() async throws {
        let broker = try Broker()
        try broker.start()
        let first = try sender(broker)
        first.export("event-1")
        await first.wait { $0.acknowledged == ["event-1"] }
        let second = try sender(broker)
        second.export("other-1")
        await second.wait { $0.happenings.contains(.said(.end("another gateway serves the node berlin"))) }
        first.export("event-2")
        await first.wait { $0.acknowledged == ["event-1", "event-2"] }
        #expect(second.acknowledged.isEmpty)
    }

    @Test func gatewayOfTheSameOwnerWaitsForTheFirstAndTakesItsPlace() async throws {
        let broker = try Broker()
        try broker.start()
        var first: NodeUnderTest? = try NodeUnderTest("berlin", broker, owner: "x") { $0.exports = ["Counted"] }
        first?.export("event-1")
        await first?.wait { $0.acknowledged == ["event-1"] }
        let second = try NodeUnderTest("berlin", broker, owner: "x") {
            $0.exports = ["Counted"]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        second.export("event-2")
        await second.wait { $0.sentences == ["waits for the end of the gateway before this one"] }
        first?.export("event-1b")
        await first?.wait { $0.acknowledged == ["event-1", "event-1b"] }
        #expect(second.acknowledged.isEmpty)
        first = nil
        await second.wait { $0.acknowledged == ["event-2"] }
    }

    @Test func storeOfYesterdayWithOtherEventsSinceIsReadWhereItDiffers() async throws {
        let broker = try Broker()
        try broker.start()
        let paris = try receiver(broker)
        let berlin = try node("berlin")
        func write(_ ids: [String]) async throws {
            let client = try await client(broker)
            defer { client.close() }
            _ = try client.tail(of: berlin, withRecent: false, limits: .init(bytes: 1 << 20, age: 1))
            for id in ids {
                let headers = EventHeaders(id: id, source: "s", name: "Counted", path: [berlin])
                let fields = fields(headers).merging(["Nats-Msg-Id": id]) { $1 }
                try client.store(berlin.subject(of: "Counted"), fields, [0x01])
            }
        }
        let old = Self.ids(1...10)
        try await write(old)
        await paris.wait { $0.arrivals == old }
        broker.kill()
        try broker.saveStore()
        try broker.start()
        let lost = (11...20).map { "lost-\($0)" }
        try await write(lost)
        await paris.wait { $0.arrivals == old + lost }
        broker.kill()
        try broker.restoreStore()
        try broker.start()
        // If paris looks only now, the stream reaches beyond the place up to which paris has read.
        let new = (11...25).map { "new-\($0)" }
        try await write(new)
        await paris.wait { $0.arrivals.last == new.last }
        expect(paris.arrivals, old + lost + new, "arrivals")
        #expect(paris.sentences.contains { $0.contains("the stream went back") })
    }

    @Test func brokerWithAnEmptyStoreIsSaidAndServed() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        let paris = try receiver(broker)
        let ids = Self.ids(1...20)
        for id in ids[..<10] { berlin.export(id) }
        await paris.wait { $0.arrivals.count == 10 }
        await berlin.wait { $0.acknowledged.count == 10 }
        broker.kill()
        try broker.removeStore()
        try broker.start()
        for id in ids[10...] { berlin.export(id) }
        await paris.wait { $0.arrivals.count >= 20 }
        await berlin.wait { $0.acknowledged.count >= 20 }
        expect(paris.arrivals, ids, "arrivals")
        expect(berlin.acknowledged, ids, "acknowledged")
        for node in [berlin, paris] {
            #expect(node.sentences.contains { $0.contains("BRIDGE-berlin: the stream is another one than before") })
        }
    }

    @Test func repeatIsFoundInTheStreamWhenTheBrokerHasForgottenItsIdentity() async throws {
        let broker = try Broker()
        try broker.start()
        var berlin: NodeUnderTest? = try sender(broker)
        let ids = Self.ids(1...21)
        for id in ids[..<20] { berlin?.export(id) }
        await berlin?.wait { $0.acknowledged.count == 20 }
        berlin = nil
        // The window for duplicates is so short that the server knows no identity after its restart.
        try await setDuplicateWindow(of: "BRIDGE-berlin", broker)
        broker.kill()
        try broker.start()
        let second = try sender(broker)
        for id in ids { second.export(id, isRepeat: id != ids[20]) }
        await second.wait { $0.acknowledged.count == 21 }
        let client = try await client(broker)
        defer { client.close() }
        #expect(try client.look(at: try node("berlin"), by: try node("paris")).last == 21)
    }

    @Test func replayIsExportedAgainThoughBothGatewayAndBrokerKnowTheEvent() async throws {
        let broker = try Broker()
        try broker.start()
        let attempts = Changing<[Int]>([])
        let other = try node("berlin")
        let paris = try NodeUnderTest("paris", broker) { event in
            attempts.change { $0.append(event.headers.attempt) }
            return .taken
        } configure: {
            $0.imports = [other: ["Counted"]]
        }
        var berlin: NodeUnderTest? = try sender(broker)
        for id in Self.ids(1...3) { berlin?.export(id) }
        await berlin?.wait { $0.acknowledged.count == 3 }
        berlin = nil
        let second = try sender(broker)
        second.export("event-3", isRepeat: true)
        for _ in 1...2 { second.export("event-2", isRepeat: true, isReplay: true) }
        second.export("event-4")
        await second.wait { $0.acknowledged.count == 4 }
        await attempts.wait { $0.count >= 6 }
        expect(paris.arrivals, Self.ids(1...3) + ["event-2", "event-2", "event-4"], "arrivals")
        #expect(attempts.value == [1, 1, 1, 2, 2, 1])
    }

    @Test func eventsOfAClockThatIsWrongArriveInTheirOrder() async throws {
        let broker = try Broker()
        try broker.start()
        let (berlin, reader) = (try node("berlin"), try node("paris"))
        // Like the worker, this host reads the times, and refuses what it cannot use.
        let paris = try NodeUnderTest("paris", broker) { event in
            do {
                _ = try event.forHost(at: reader)
                return .taken
            } catch {
                return .refused("\(error)")
            }
        } configure: {
            $0.imports = [berlin: ["Counted"]]
        }
        let client = try await client(broker)
        defer { client.close() }
        _ = try client.tail(of: berlin, withRecent: false, limits: .init(bytes: 1 << 20, age: 1))
        let times = ["2999-01-01T00:00:00.0Z", "1970-01-01T00:00:00.0Z", "yesterday", nil, "2026-01-02T03:04:05.6Z"]
        let ids = times.indices.map { "orders-1f-\($0 + 1)" }
        for (id, time) in zip(ids, times) {
            let headers = EventHeaders(id: id, source: "s", name: "Counted", time: time, path: [berlin])
            let fields = fields(headers).merging(["Nats-Msg-Id": id]) { $1 }
            try client.store(berlin.subject(of: "Counted"), fields, [0x01])
        }
        await paris.wait { $0.arrivals.count >= ids.count }
        expect(paris.arrivals, ids, "arrivals")
        #expect(!paris.sentences.contains { $0.contains("given up") })
    }

    @Test func foreignMessageInTheStreamEndsTheWriter() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        berlin.export("event-1")
        await berlin.wait { $0.acknowledged == ["event-1"] }
        try await writeRaw(to: "bridge.berlin.Counted", [:], broker)
        berlin.export("event-2")
        await berlin.wait { $0.happenings.contains { if case .said(.again) = $0 { true } else { false } } }
        #expect(berlin.acknowledged == ["event-1"])
    }

    @Test func inALoopOfThreeNodesEachEventArrivesOnceAtEachOther() async throws {
        let broker = try Broker()
        try broker.start()
        let names = ["a", "b", "c"]
        let nodes = try names.map { name in
            try NodeUnderTest(name, broker) {
                $0.exports = ["Counted"]
                $0.imports = [:]
                for other in names where other != name { $0.imports[try node(other)] = ["Counted"] }
            }
        }
        for (name, node) in zip(names, nodes) { for number in 1...50 { node.export("\(name)-\(number)") } }
        for (name, node) in zip(names, nodes) {
            await node.wait { $0.arrivals.count >= 100 }
            let arrivals = node.arrivals
            #expect(Set(arrivals).count == 100)
            #expect(arrivals.allSatisfy { !$0.hasPrefix(name) })
        }
    }

    @Test func hostileMessagesAreNamedAndTheNextEventArrives() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        // paris imports two names, because for one name the broker would hold back messages of other subjects.
        let paris = try NodeUnderTest("paris", broker) { $0.imports = [try node("berlin"): ["Counted", "Other"]] }
        berlin.export("event-1")
        await paris.wait { $0.arrivals == ["event-1"] }
        try await writeRaw(to: "bridge.berlin.Counted", [:], broker)
        try await writeRaw(to: "bridge.berlin.Counted", ["ce-specversion": "1.0", "ce-id": "%"], broker)
        try await writeRaw(to: "bridge.berlin.%zz", ["ce-specversion": "1.0"], broker)
        let good = EventHeaders(id: "event-2", source: "s", name: "Counted", path: [try node("berlin")])
        var returned = good
        returned.path.append(try node("paris"))
        try await writeRaw(to: "bridge.berlin.Counted", fields(returned), broker)
        try await writeRaw(to: "bridge.berlin.Counted", fields(good), broker)
        await paris.wait { $0.arrivals == ["event-1", "event-2"] }
        for message in 2...4 { #expect(paris.sentences.contains { $0.contains("message \(message) is given up") }) }
        #expect(paris.sentences.contains { $0.contains("message 5 is given up") && $0.contains("has been at paris") })
    }

    @Test func eventThatTheHostRefusesIsGivenUpAndOneThatItHasNotTakenComesAgain() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        for id in ["a", "refused", "b", "untaken", "c"] { berlin.export(id) }
        await berlin.wait { $0.acknowledged.count == 5 }
        let other = try node("berlin")
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker) { event in
            switch event.headers.id {
            case "refused": .refused("no CBOR")
            case "untaken": .ended
            default: .taken
            }
        } configure: {
            $0.imports = [other: ["Counted"]]
            $0.answerTime = NodeUnderTest.longAnswerTime
        }
        await first?.wait { $0.arrivals.contains("untaken") && !$0.sentences.isEmpty }
        #expect(first?.arrivals == ["a", "refused", "b", "untaken"])
        #expect(first?.sentences == ["BRIDGE-berlin: message 2 is given up: no CBOR"])
        first = nil
        let second = try receiver(broker)
        await second.wait { $0.arrivals.last == "c" }
        #expect(second.arrivals.suffix(2) == ["untaken", "c"])
    }

    @Test func placeOutlivesAGatewayThatAcknowledgedNothing() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        let other = try node("berlin")
        let ids = Self.ids(1...3)
        for id in ids { berlin.export(id) }
        var first: NodeUnderTest? = try NodeUnderTest("paris", broker) {
            $0.headers.id == ids[2] ? .ended : .taken
        } configure: {
            $0.imports = [other: ["Counted"]]
        }
        await first?.wait { $0.arrivals.count == 3 }
        let client = try await client(broker)
        defer { client.close() }
        while try client.look(at: other, by: try node("paris")).floor < 2 { try Task.checkCancellation() }
        first = nil
        for _ in 1...2 {
            let next = try NodeUnderTest("paris", broker) { _ in
                .ended
            } configure: {
                $0.imports = [other: ["Counted"]]
            }
            await next.wait { !$0.arrivals.isEmpty }
            #expect(next.arrivals == [ids[2]])
        }
    }

    @Test func gatewayThatNothingHoldsGoesOnAfterAReconnection() async throws {
        let broker = try Broker()
        try broker.start()
        let berlin = try sender(broker)
        let arrivals = Changing<[String]>([])
        var configuration = GatewayConfiguration(node: try node("paris"))
        configuration.url = broker.url
        configuration.imports = [try node("berlin"): ["Counted"]]
        weak var gateway: Gateway?
        do {
            let made = try Gateway(
                configuration,
                owner: "test",
                publish: { event in
                    arrivals.change { $0.append(event.headers.id) }
                    return .taken
                },
                report: { _ in }
            )
            gateway = made
        }
        berlin.export("event-1")
        await arrivals.wait { $0 == ["event-1"] }
        broker.kill()
        try broker.start()
        // More events than a consumer may send without an acknowledgement.
        let ids = Self.ids(2...600)
        for id in ids { berlin.export(id) }
        await arrivals.wait { $0.count >= 600 }
        expect(arrivals.value, ["event-1"] + ids, "arrivals")
        gateway?.stop()
    }

    // MARK: - Another client of the broker

    private func fields(_ headers: EventHeaders) -> [String: String] {
        Dictionary(uniqueKeysWithValues: headers.fields.map { ("\($0.name)", $0.value) })
    }

    private func client(_ broker: Broker) async throws -> NATSConnection {
        try await NATSConnection.connected(to: broker.url)
    }

    /// Writes a message that no gateway made, and returns when it is in the stream.
    private func writeRaw(to subject: String, _ fields: [String: String], _ broker: Broker) async throws {
        let client = try await client(broker)
        defer { client.close() }
        try client.store(subject, fields, [0x01])
    }

    private func purge(_ stream: String, _ broker: Broker) async throws {
        let client = try await client(broker)
        defer { client.close() }
        try client.purge(stream)
    }

    private func setDuplicateWindow(of stream: String, _ broker: Broker) async throws {
        let client = try await client(broker)
        defer { client.close() }
        try client.setDuplicateWindow(of: stream, milliseconds: 100)
    }
}
