import BridgePlatform
import DomainEvents
import Testing

@testable import Journal

/// What `Counted` and `Colored` events say, with the order in which they came.
struct Account: Projection, Equatable {
    var sum = 0
    var said: [String] = []
    var gaps: [String] = []

    static var events: [ProjectedEvent<Account>] {
        [
            .on(Counted.self) { account, entry in
                account.sum += entry.event.number
                account.said.append("\(entry.position): \(entry.event.number)")
            },
            .on(Colored.self, upcasting: [.from("Painted")]) { account, entry in
                account.said.append("\(entry.position): \(entry.event.color)")
            },
        ]
    }

    mutating func eventsAreMissing(_ gap: JournalGap) { gaps.append(gap.description) }
}

struct Unread: DomainEvent {}

/// Events whose names have the same look and other bytes: the letter é in one scalar, and in two.
private struct OneScalar: DomainEvent { static let eventName = "caf\u{E9}" }

private struct TwoScalars: DomainEvent { static let eventName = "cafe\u{301}" }

private struct Spellings: Projection {
    var found: [Int] = []

    static var events: [ProjectedEvent<Spellings>] {
        [
            .on(OneScalar.self) { spellings, _ in spellings.found.append(1) },
            .on(TwoScalars.self) { spellings, _ in spellings.found.append(2) },
        ]
    }

    mutating func eventsAreMissing(_ gap: JournalGap) { Issue.record("\(gap)") }
}

@Suite("A projection of a journal")
struct ProjectionTests {
    static func publisher(_ journal: EventJournal) throws -> EventPublisher {
        let publisher = EventPublisher()
        try journal.record(Counted.self, of: publisher)
        try journal.record(Colored.self, of: publisher)
        try journal.record(Unread.self, of: publisher)
        return publisher
    }

    @Test("Types whose names have the same look and other bytes are told apart", .timeLimit(.minutes(1)))
    func spellings() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = EventPublisher()
        journal.record(named: [OneScalar.eventName, TwoScalars.eventName], of: publisher)
        publisher.publish(OneScalar())
        publisher.publish(TwoScalars())
        #expect(journal.status.lastPosition == 2)
        let running = try journal.project(Spellings(), keptIn: "\(scratch.path)/spellings")
        try await running.reach(2)
        #expect(running.state.found == [1, 2])
        try await running.close()
        await journal.close()
    }

    @Test("Several types in the journal's order, old events and new ones; kept over a start", .timeLimit(.minutes(1)))
    func follows() async throws {
        let scratch = try ScratchJournal()
        let file = "\(scratch.path)/account"
        var journal = try scratch.open()
        var publisher = try Self.publisher(journal)
        publisher.publish(Counted(number: 1))
        publisher.publish(Colored(color: "red"))
        let first = try journal.project(Account(), keptIn: file)
        publisher.publish(Counted(number: 2))
        publisher.publish(Unread())
        // An event of another type is reached, too.
        try await first.reach(4)
        #expect(first.state.said == ["1: 1", "2: red", "3: 2"])
        #expect(first.position == 4)
        // Four events are no reason to save the state; the end is one.
        #expect(try !scratch.files.names().contains("account"))
        try await first.close()
        await journal.close()

        journal = try scratch.open()
        publisher = try Self.publisher(journal)
        publisher.publish(Counted(number: 3))
        // A state that begins anew would be this one.
        let second = try journal.project(Account(sum: 1_000), keptIn: file)
        #expect(second.position >= 4)
        try await second.reach(5)
        #expect(second.current.state == Account(sum: 6, said: ["1: 1", "2: red", "3: 2", "5: 3"]))
        // The end of the journal ends the projection, and saves its state.
        await journal.close()
        await #expect { try await second.reach(6) } throws: { ($0 as? JournalError)?.code == .closed }
        try await second.close()

        journal = try scratch.open()
        let third = try journal.project(Account(), keptIn: file)
        #expect(third.position == 5)
        #expect(third.state.sum == 6)
        try await third.close()
        await journal.close()
    }

    @Test(
        "J16: missing events, events that do not decode and former names reach the projection, in their order",
        .timeLimit(.minutes(1))
    )
    func gaps() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open(retention: JournalRetention(bytes: 4 * 64 << 10))
        let publisher = try Self.publisher(journal)
        for number in 0..<2_000 {
            publisher.publish(Counted(number: number, text: String(repeating: "x", count: 400)))
        }
        let position = journal.status.lastPosition
        _ = try journal.core.append([0x05], name: "Colored", context: .of(1), whenSettled: nil)
        let painted: [UInt8] = [0xA1, 0x65] + "color".utf8 + [0x64] + "blue".utf8
        _ = try journal.core.append(painted, name: "Painted", context: .of(2), whenSettled: nil)
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        try await running.reach(position + 2)
        let state = running.state
        #expect(state.gaps.count == 2)
        #expect(state.gaps.first?.hasSuffix("the journal no longer keeps them") == true)
        #expect(state.gaps.last?.hasPrefix("the event at position \(position + 1) is missing") == true)
        #expect(state.said.last == "\(position + 2): blue")
        try await running.close()
        await journal.close()
    }

    @Test("Any thread reads a state that belongs to its position, while events come", .timeLimit(.minutes(2)))
    func reading() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = try Self.publisher(journal)
        let running = try journal.project(
            Account(),
            keptIn: "\(scratch.path)/account",
            saving: ProjectionSaving(positions: 100, pause: .zero)
        )
        let count = 3_000
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var last: UInt64 = 0
                    while last < count {
                        let (state, position) = running.current
                        #expect(position >= last)
                        #expect(state.said.count == position)
                        last = position
                        await Task.yield()
                    }
                }
            }
            group.addTask { for number in 0..<count { publisher.publish(Counted(number: number)) } }
        }
        #expect(running.state.sum == count * (count - 1) / 2)
        try await running.close()
        await journal.close()
    }

    @Test("A caller that waits for a position is released by its task's end", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        let waiting = Task { try await running.reach(1) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await running.close()
        await journal.close()
    }

    @Test("A journal that fails ends the projection with the failure", .timeLimit(.minutes(1)))
    func failingJournal() async throws {
        let scratch = try ScratchJournal()
        let storage = try FaultyStorage(at: scratch.path)
        let (journal, publisher) = try FaultTests.journal(on: storage, .machine(within: .seconds(3_600)))
        let running = try journal.project(Account(), keptIn: "\(scratch.path)/account")
        await journal.waitForSpare()
        storage.failSynchronizations(1)
        publisher.publish(Counted(number: 1))
        await #expect(throws: JournalError.self) { try await journal.synchronize() }
        await #expect { try await running.reach(1) } throws: { ($0 as? JournalError)?.code == .system }
        try await running.close()
        await journal.close()
    }
}
