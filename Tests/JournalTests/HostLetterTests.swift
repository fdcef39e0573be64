import DomainEvents
import EventBridge
import EventBridgeTesting
import Synchronization
import TestSupport
import Testing

@testable import Journal

private struct Unwilling: Error {}

@Suite("A dead letter of the host's own handlers, and a journal", .timeLimit(.minutes(2)))
final class HostLetterTests: Sendable {
    private let publisher = EventPublisher()
    private let isWilling = Atomic<Bool>(false)
    private let attempts = Collected<Int>()

    private func handle() throws {
        attempts.add(EventContext.current?.attempt ?? 0)
        if !isWilling.load(ordering: .relaxed) { throw Unwilling() }
    }

    /// A bridge whose worker publishes the first number, and its letter for the host.
    private func bridgeWithLetter() async throws -> (BridgeHost, DeadLetter) {
        let letters = Collected<EventDeadLettered>()
        let reports = publisher.subscribe(to: EventDeadLettered.self) { letters.add($0) }
        let bridge = try await BridgeHost.inMemory(
            publisher,
            workers: [
                InMemoryWorker("counter", subscribes: [Colored.self]) { publisher in
                    [publisher.subscribe(to: Colored.self) { _ in publisher.publish(Counted(number: 1)) }]
                }
            ]
        )
        publisher.publish(Colored(color: "red"))
        await letters.wait(for: 1)
        reports.cancel()
        await bridge.waitUntilIdle()
        let letter = try #require(bridge.deadLetters.first)
        #expect(letter.worker == "host" && letter.event == Counted.eventName)
        return (bridge, letter)
    }

    @Test("is handled again, and not recorded again", arguments: [false, true])
    func notTwice(isAsync: Bool) async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        let subscription =
            isAsync
            ? publisher.subscribe(to: Counted.self) { _ async throws in try self.handle() }
            : publisher.subscribe(to: Counted.self) { _ in try self.handle() }
        let (bridge, letter) = try await bridgeWithLetter()
        // Refused once more, it is recorded just as little.
        #expect(try bridge.redeliver(letter.id))
        await attempts.wait(for: 2)
        await bridge.waitUntilIdle()
        while bridge.deadLetters.isEmpty { await Task.yield() }
        isWilling.store(true, ordering: .relaxed)
        #expect(try bridge.redeliverDeadLetters(of: "host") == 1)
        #expect(await attempts.wait(for: 3) == [1, 2, 3])
        #expect(try await journal.numbers().found == [1])
        #expect(bridge.deadLetters.isEmpty)
        subscription.cancel()
        await bridge.shutdown()
        await journal.close()
    }

    @Test("stays if only the journal is left, which has the event")
    func onlyJournalIsLeft() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        try journal.record(Counted.self, of: publisher)
        let subscription = publisher.subscribe(to: Counted.self) { _ in try self.handle() }
        let (bridge, letter) = try await bridgeWithLetter()
        subscription.cancel()
        let error = #expect(throws: DeliveryError.self) { try bridge.redeliver(letter.id) }
        #expect(error?.code == .noSubscriber)
        #expect(bridge.deadLetters.map(\.id) == [letter.id])
        #expect(try await journal.numbers().found == [1])
        await bridge.shutdown()
        await journal.close()
    }

    @Test("is recorded if the journal had no room for it, also if no handler is left", arguments: [false, true])
    func notRecorded(hasHandler: Bool) async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path, writesInPlace: false)
        var settings = JournalCore.Settings()
        settings.segmentBytes = 64 << 10
        let journal = try EventJournal(storage, at: "test", lock: nil, settings)
        try journal.record(Counted.self, of: publisher)
        await journal.waitForSpare()
        publisher.publish(Counted(number: 0))
        // An async handler: the journal has one attempt to record the event, without a quicker one before it.
        let subscription = publisher.subscribe(to: Counted.self) { _ async throws in try self.handle() }
        storage.failNextWrites(1)
        let (bridge, letter) = try await bridgeWithLetter()
        #expect(attempts.all == [1] && letter.reasons.count == 1)
        #expect(try await journal.numbers().found == [0])
        isWilling.store(true, ordering: .relaxed)
        if !hasHandler { subscription.cancel() }
        #expect(try bridge.redeliver(letter.id))
        if hasHandler { await attempts.wait(for: 2) }
        #expect(try await journal.numbers().found == [0, 1])
        await bridge.waitUntilIdle()
        #expect(bridge.deadLetters.isEmpty)
        subscription.cancel()
        await bridge.shutdown()
        await journal.close()
    }
}
