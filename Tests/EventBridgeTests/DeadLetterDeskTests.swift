import BridgeClient
import BridgeControl
import BridgeProtocol
import DomainEvents
import EventBridge
import EventBridgeTesting
import Synchronization
import TestSupport
import Testing

private struct CratePacked: DomainEvent {
    let number: Int
    var text = ""
}

private struct CrateLost: DomainEvent {
    let number: Int
}

private struct KilnFired: DomainEvent {
    let number: Int
}

private struct Unwilling: Error, CustomStringConvertible {
    let description = "not today"
}

@Suite("Commands about dead letters", .serialized, .timeLimit(.minutes(5)))
struct DeadLetterServiceTests {
    /// Whether the handlers do their work.
    private final class Mood: Sendable {
        let isWilling = Atomic<Bool>(false)
        let handled = Collected<Int>()

        func handle(_ number: Int) throws {
            guard isWilling.load(ordering: .relaxed) else { throw Unwilling() }
            handled.add(number)
        }
    }

    private let mood = Mood()

    private func store(_ name: String = "store") -> InMemoryWorker {
        InMemoryWorker(name, subscribes: [CratePacked.self]) { [mood] publisher in
            [
                publisher.subscribe(to: CratePacked.self) { crate in
                    // If the host's handler refuses this event, the letter belongs to the host.
                    publisher.publish(CrateLost(number: crate.number))
                    try mood.handle(crate.number)
                }
            ]
        }
    }

    /// Runs `body` with a host that has dead letters of crates 1 to `count` for its worker.
    private func withLetters(
        _ count: Int,
        text: String = "",
        _ body: (AttachHome, BridgeHost, BridgeClient) async throws -> Void
    ) async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [store()])
        for number in 1...count { home.publisher.publish(CratePacked(number: number, text: text)) }
        await bridge.waitUntilIdle()
        let client = try await home.attach(EventPublisher())
        try await body(home, bridge, client)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a list has all letters in their order, in as many answers as it takes, and is filtered by the host")
    func list() async throws {
        try await withLetters(2 * DeadLettersReported.mostLetters + 1) { _, bridge, client in
            let letters = try await client.deadLetters()
            #expect(letters.map(\.letter) == bridge.deadLetters.map(\.id))
            #expect(letters.count == 201 && letters.allSatisfy { $0.payload == nil && $0.payloadBytes > 0 })
            let letter = try #require(letters.first)
            #expect(letter.event == "CratePacked" && letter.worker == "store" && letter.cause == "refused")
            #expect(letter.attempts == 1 && letter.strikes == 0 && letter.nanosecondsSinceEpoch > 0)
            #expect(letter.id == bridge.deadLetters.first?.eventID.description)
            #expect(letter.reasons.count == 1 && letter.reasons[0].contains("not today"))
            #expect(try await client.deadLetters(ofEvent: "CratePacked", forWorker: "store").count == 201)
            #expect(try await client.deadLetters(ofEvent: "CrateLost").isEmpty)
            #expect(try await client.deadLetters(forWorker: "host").isEmpty)
        }
    }

    @Test("a list of an event's letters has only those whose event has the name's bytes")
    func listByBytes() async throws {
        let home = try AttachHome()
        let kiln = InMemoryWorker("kiln", subscribes: [KilnFired.self]) { publisher in
            [publisher.subscribe(to: KilnFired.self) { _ in throw Unwilling() }]
        }
        let (bridge, kept) = try await home.start(workers: [kiln])
        home.publisher.publish(KilnFired(number: 1))
        await bridge.waitUntilIdle()
        let client = try await home.attach(EventPublisher())
        #expect(try await client.deadLetters(ofEvent: "KilnFired").count == 1)
        // The sign for kelvin, which Swift takes for a K.
        #expect(try await client.deadLetters(ofEvent: "\u{212A}ilnFired").isEmpty)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a letter is shown with its payload, unless that is too long")
    func show() async throws {
        try await withLetters(1) { _, bridge, client in
            let letter = try #require(bridge.deadLetters.first)
            let shown = try await client.deadLetter(letter.id)
            #expect(shown?.payload?.count == letter.payloadBytes)
            #expect(try await client.deadLetter(letter.id + 1) == nil)
        }
        let long = String(repeating: "x", count: DeadLetterReport.mostPayloadBytes)
        try await withLetters(1, text: long) { _, bridge, client in
            let shown = try await client.deadLetter(try #require(bridge.deadLetters.first).id)
            #expect(shown?.payload == nil && shown?.payloadBytes ?? 0 > DeadLetterReport.mostPayloadBytes)
        }
    }

    @Test("a worker accepts a letter that is redelivered, or refuses it into a new one; the old number is unknown then")
    func redeliverToWorker() async throws {
        try await withLetters(1) { _, bridge, client in
            let first = try #require(bridge.deadLetters.first).id
            let accepted = DeadLetterOutcome(letter: first, kind: .accepted, worker: "store")
            #expect(try await client.redeliverDeadLetter(first) == accepted)
            await bridge.waitUntilIdle()
            let second = try #require(bridge.deadLetters.first)
            #expect(bridge.deadLetters.count == 1 && second.id > first && second.attempts == 2)
            #expect(try await client.redeliverDeadLetter(first) == DeadLetterOutcome(letter: first, kind: .unknown))
            mood.isWilling.store(true, ordering: .relaxed)
            #expect(try await client.redeliverDeadLetter(second.id).kind == .accepted)
            await bridge.waitUntilIdle()
            #expect(mood.handled.all == [1] && bridge.deadLetters.isEmpty)
        }
    }

    @Test("a worker that is stopped refuses a letter, with a sentence, and the letter stays")
    func redeliverToStopped() async throws {
        try await withLetters(1) { _, bridge, client in
            let letter = try #require(bridge.deadLetters.first)
            try await client.stop("store")
            let outcome = try await client.redeliverDeadLetter(letter.id)
            #expect(outcome.kind == .refused && outcome.worker == "store")
            #expect(outcome.refusal?.contains("it was stopped") == true, "\(outcome)")
            #expect(bridge.deadLetters == [letter])
        }
    }

    @Test("the host's handlers have handled a letter, or refused it, when its redelivery is answered")
    func redeliverToHost() async throws {
        let home = try AttachHome()
        let subscription = home.publisher.subscribe(to: CrateLost.self) { [mood] in try mood.handle($0.number) }
        let reporter = InMemoryWorker("reporter", subscribes: [CratePacked.self]) { publisher in
            [publisher.subscribe(to: CratePacked.self) { publisher.publish(CrateLost(number: $0.number)) }]
        }
        let (bridge, kept) = try await home.start(workers: [reporter])
        home.publisher.publish(CratePacked(number: 1))
        await bridge.waitUntilIdle()
        let client = try await home.attach(EventPublisher())
        let first = try #require(try await client.deadLetters(forWorker: "host").first)
        let refused = try await client.redeliverDeadLetter(first.letter)
        #expect(refused.kind == .refused && refused.worker == "host")
        #expect(refused.refusal?.contains("not today") == true)
        let second = try #require(try await client.deadLetters().first)
        #expect(second.id == first.id && second.letter > first.letter && second.attempts == 2)
        mood.isWilling.store(true, ordering: .relaxed)
        let handled = DeadLetterOutcome(letter: second.letter, kind: .handled, worker: "host")
        #expect(try await client.redeliverDeadLetter(second.letter) == handled)
        #expect(mood.handled.all == [1] && bridge.deadLetters.isEmpty)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime((subscription, kept)) {}
    }

    @Test("a letter that is discarded is gone, and the others stay")
    func discard() async throws {
        try await withLetters(2) { _, bridge, client in
            let ids = bridge.deadLetters.map(\.id)
            var outcomes: [DeadLetterOutcome] = []
            for id in [ids[0], ids[0], .max] { outcomes.append(try await client.discardDeadLetter(id)) }
            #expect(
                outcomes == [
                    DeadLetterOutcome(letter: ids[0], kind: .discarded, worker: "store"),
                    DeadLetterOutcome(letter: ids[0], kind: .unknown),
                    DeadLetterOutcome(letter: .max, kind: .unknown),
                ]
            )
            #expect(bridge.deadLetters.map(\.id) == [ids[1]])
        }
    }

    @Test("a command that comes again over another link is not done a second time")
    func secondAttempt() async throws {
        try await withLetters(1) { home, bridge, _ in
            let letter = try #require(bridge.deadLetters.first).id
            let raw = try RawClient(to: home.path)
            raw.send(.hello(RawClient.hello()))
            raw.send(.ready)
            await home.attached.wait { $0.count == 2 }
            let commands = Collected<Int>()
            let subscriptions = [
                home.publisher.subscribe(to: DeadLetterRedeliveryRequested.self) { _ in
                    commands.add(EventContext.current?.attempt ?? 0)
                },
                home.publisher.subscribe(to: DeadLetterDiscardRequested.self) { _ in
                    commands.add(EventContext.current?.attempt ?? 0)
                },
            ]
            try raw.publish(DeadLetterRedeliveryRequested(letter: letter), sequence: 1, attempt: 2)
            try raw.publish(DeadLetterDiscardRequested(letter: letter), sequence: 2, attempt: 2)
            await commands.wait { $0 == [2, 2] }
            #expect(bridge.deadLetters.map(\.id) == [letter])
            try raw.publish(DeadLetterDiscardRequested(letter: letter), sequence: 3, attempt: 1)
            await commands.wait { $0.count == 3 }
            #expect(bridge.deadLetters.isEmpty)
            raw.close()
            withExtendedLifetime(subscriptions) {}
        }
    }
}
