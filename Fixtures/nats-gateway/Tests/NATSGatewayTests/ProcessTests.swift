import Foundation
import LocalBroker
import Testing

@testable import NATSGateway

/// Two supervisors with their gateways and a broker, all of them processes.
@Suite(.enabled(if: Broker.isInstalled, "nats-server is not installed"), .timeLimit(.minutes(30)), .serialized)
struct ProcessTests {
    /// How many processes are killed; a sixth of the kills are the broker's.
    private static let kills = ProcessInfo.processInfo.environment["NATS_GATEWAY_KILLS"].flatMap { Int($0) } ?? 24
    private static let seed =
        ProcessInfo.processInfo.environment["NATS_GATEWAY_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...9_999)

    /// What is killed: in one of six cases the broker.
    private enum Kill: CaseIterable {
        case broker, exporter1, exporter2, exporter3, importer1, importer2
    }

    private func arguments(_ text: String, _ broker: Broker) -> [String] {
        text.split(separator: " ").map(String.init) + ["--url", broker.url]
    }

    /// The node berlin, which publishes these numbers.
    private func exporting(
        _ numbers: ClosedRange<Int>,
        to broker: Broker,
        hasJournal: Bool = false
    ) throws -> SupervisorUnderTest {
        let input = "\(broker.directory)/input.jsonl"
        try numbers.map { "{\"type\": \"Counted\", \"data\": {\"number\": \($0)}}\n" }.joined()
            .write(toFile: input, atomically: true, encoding: .utf8)
        return try SupervisorUnderTest(
            "berlin",
            gateway: arguments("--node berlin --export Counted", broker),
            in: broker.directory,
            input: input,
            trusted: broker.certificate,
            hasJournal: hasJournal
        )
    }

    /// The node paris, which imports the numbers of berlin.
    private func importing(from broker: Broker, hasJournal: Bool = false) throws -> SupervisorUnderTest {
        try SupervisorUnderTest(
            "paris",
            gateway: arguments("--node paris --import berlin=Counted", broker),
            in: broker.directory,
            trusted: broker.certificate,
            hasJournal: hasJournal
        )
    }

    @Test(arguments: [true, false])
    func killsLoseAndReorderNothingAndOnlyAHostWithoutAJournalGetsRepeats(hasJournal: Bool) async throws {
        var random = SeededGenerator(Self.seed)
        var kills = (0..<Self.kills).map { Kill.allCases[$0 % Kill.allCases.count] }
        for index in kills.indices.dropFirst() { kills.swapAt(index, random.next(below: index + 1)) }
        let ofBroker = kills.count { $0 == .broker }
        let drawn = "\(kills.count - ofBroker) kills of gateways, \(ofBroker) of the broker"
        print("seed \(Self.seed): \(drawn)")
        let broker = try Broker()
        try broker.start()
        let count = Self.kills * 200 + 200
        let paris = try importing(from: broker, hasJournal: hasJournal)
        let berlin = try exporting(1...count, to: broker)
        for (round, kill) in zip(1..., kills) {
            let threshold = round * 200 - random.next(below: 190)
            await paris.output.wait { ($0.numbers.max() ?? 0) >= threshold || $0.hasEnded }
            try Task.checkCancellation()
            for supervisor in [berlin, paris] {
                try #require(!supervisor.output.value.hasEnded, "\(supervisor.output.value.lines.suffix(5))")
            }
            switch kill {
            case .broker:
                broker.kill()
                try broker.start()
            case .exporter1, .exporter2, .exporter3: await berlin.killGateway()
            case .importer1, .importer2: await paris.killGateway()
            }
        }
        await paris.output.wait { Set($0.numbers).count == count }
        let numbers = paris.output.value.numbers
        // Repeats come after a kill, and end at the highest number before the kill, so the next new number follows it.
        var highest = 0
        var reordered = 0
        for number in numbers where number > highest {
            if number != highest + 1 { reordered += 1 }
            highest = number
        }
        #expect(Set(numbers).count == count)
        #expect(reordered == 0)
        // A repeat has the identity that the event had before: the one that berlin gave it.
        let identities = paris.output.value.identities
        #expect(identities.allSatisfy { $0.value.count == 1 && $0.value.allSatisfy { $0.hasPrefix("berlin/") } })
        #expect(Set(identities.values.flatMap(\.self)).count == count)
        // Without bookmarks, each kill repeats at most a window of events.
        #expect(numbers.count - count <= (hasJournal ? 0 : 256 * Self.kills))
        let client = try await NATSConnection.connected(to: broker.url)
        let stored = try client.look(at: try node("berlin"), by: try node("paris")).last
        client.close()
        #expect(stored == UInt64(count))
        let repeats = "\(numbers.count - count) repeats in paris \(hasJournal ? "with" : "without") a journal"
        let lost = "\(count - Set(numbers).count) lost, \(reordered) reordered"
        print("\(count) events, \(drawn): \(lost), \(repeats), \(Int(stored) - count) in the stream")
    }

    @Test(.enabled(if: Broker.canEncrypt, "openssl is not installed"))
    func eventsPassOverEncryptedConnections() async throws {
        let broker = try Broker(encrypts: true)
        try broker.start()
        let paris = try importing(from: broker)
        let berlin = try exporting(1...3_000, to: broker)
        await paris.output.wait { $0.numbers.count >= 3_000 || $0.hasEnded }
        #expect(paris.output.value.numbers == Array(1...3_000), "\(paris.output.value.lines.suffix(5))")
        #expect(!berlin.output.value.hasEnded)
    }

    @Test func replacementWhileEventsFlowLosesAndReordersNothing() async throws {
        let broker = try Broker()
        try broker.start()
        let count = 8_000
        let paris = try importing(from: broker)
        let berlin = try exporting(1...count, to: broker)
        for number in 2...4 {
            await paris.output.wait { $0.numbers.count >= number * 1_000 || $0.hasEnded }
            try await berlin.replaceGateway(number)
            try await paris.replaceGateway(number)
        }
        await paris.output.wait { Set($0.numbers).count == count || $0.hasEnded }
        var seen: Set<Int> = []
        #expect(paris.output.value.numbers.filter { seen.insert($0).inserted } == Array(1...count))
        for supervisor in [berlin, paris] {
            #expect(!supervisor.output.value.lines.contains { $0.contains("status 78") || $0.contains("given up") })
        }
    }

    @Test func replayedEventsAreExportedAgainAsRepeats() async throws {
        let broker = try Broker()
        try broker.start()
        let count = 20
        let paris = try importing(from: broker)
        let berlin = try exporting(1...count, to: broker, hasJournal: true)
        await paris.output.wait { $0.numbers.count == count || $0.hasEnded }
        // A gateway that starts finds all these events among the stream's last messages.
        await berlin.killGateway()
        await berlin.output.wait { $0.gateway != nil || $0.hasEnded }
        #expect(try await berlin.replayJournal() == 0, "\(berlin.output.value.lines.suffix(5))")
        await paris.output.wait { $0.numbers.count == 2 * count || $0.hasEnded }
        #expect(paris.output.value.numbers == Array(1...count) + Array(1...count))
        let attempts = Array(repeating: 1, count: count) + Array(repeating: 2, count: count)
        #expect(paris.output.value.attempts == attempts)
    }

    @Test func handlersThatAnswerEachOtherInACircleAreEndedAfterEightCrossings() async throws {
        let broker = try Broker()
        try broker.start()
        let input = "\(broker.directory)/input.jsonl"
        try #"{"type": "Ping", "data": {"number": 1}}"#.write(toFile: input, atomically: true, encoding: .utf8)
        let paris = try SupervisorUnderTest(
            "paris",
            gateway: arguments("--node paris --import berlin=Ping --export Pong --longest-chain 8", broker),
            in: broker.directory,
            subscribes: ["Pong"],
            others: try Answerer.worker(to: "Ping", with: "Pong", in: broker.directory)
        )
        let berlin = try SupervisorUnderTest(
            "berlin",
            gateway: arguments("--node berlin --import paris=Pong --export Ping --longest-chain 8", broker),
            in: broker.directory,
            input: input,
            subscribes: ["Ping"],
            others: try Answerer.worker(to: "Pong", with: "Ping", in: broker.directory)
        )
        let end = "it would be the crossing 9 from node to node behind its first cause"
        await berlin.output.wait { $0.lines.contains { $0.contains(end) } || $0.hasEnded }
        #expect(berlin.output.value.lines.contains { $0.contains("gateway refused Ping") && $0.contains(end) })
        // Four events came to paris, and four answers left it.
        await paris.output.wait { $0.numbers.count >= 8 || $0.hasEnded }
        #expect(paris.output.value.numbers.count == 8)
        #expect(!paris.output.value.lines.contains { $0.contains(end) })
    }

    @Test func secondGatewayOfANodeEndsWithAStatusOfItsOwn() async throws {
        let broker = try Broker()
        try broker.start()
        let first = try NodeUnderTest("berlin", broker) { $0.exports = ["Counted"] }
        first.export("event-1")
        await first.wait { $0.acknowledged == ["event-1"] }
        let second = try SupervisorUnderTest(
            "second",
            gateway: arguments("--node berlin --export Counted", broker),
            in: broker.directory
        )
        // The gateway is not started again, so its supervisor's own start fails.
        await second.output.wait(until: \.hasEnded)
        let lines = second.output.value.lines
        #expect(lines.contains { $0.contains("another gateway serves the node berlin") })
        #expect(lines.contains { $0.contains("exited with status 78") })
        #expect(lines.count { $0.contains("nats-gateway: another gateway serves the node berlin") } <= 2)
        first.export("event-2")
        await first.wait { $0.acknowledged == ["event-1", "event-2"] }
    }
}
