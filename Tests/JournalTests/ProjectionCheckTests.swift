import DomainEvents
import EventBridgeTesting
import Testing

@testable import Journal

@Suite("The check of a projection with a store of its own")
struct ProjectionCheckTests {
    /// A sum and its position, as two files would have them.
    private final class Store {
        var sum = 0
        var position: UInt64 = 0
    }

    /// A journal with the numbers 1, 2 and 3.
    private static func journal() async throws -> (EventJournal, ScratchJournal) {
        let scratch = try ScratchJournal()
        let journal = try scratch.open()
        let publisher = try ProjectionTests.publisher(journal)
        for number in 1...3 { publisher.publish(Counted(number: number)) }
        return (journal, scratch)
    }

    private static func check(
        _ journal: EventJournal,
        _ apply: (Store, JournalEntry<Counted>, ProjectionCheck.Steps) throws -> Void
    ) async throws -> [ProjectionCheck.Finding<Int>] {
        try await ProjectionCheck.run(
            fresh: { Store() },
            following: { store, steps in
                let events = journal.events(of: Counted.self, after: store.position, follows: false)
                for try await case .event(let entry) in events { try apply(store, entry, steps) }
            },
            result: { $0.sum }
        )
    }

    @Test("J17: a state and a position in two files are found out, whichever comes first", .timeLimit(.minutes(1)))
    func twoFiles() async throws {
        let (journal, scratch) = try await Self.journal()
        let twice = try await Self.check(journal) { store, entry, steps in
            store.sum += entry.event.number
            try steps.pass("the sum")
            store.position = entry.position
            try steps.pass("the position")
        }
        #expect(twice.map(\.step) == [1, 3, 5])
        #expect(twice.allSatisfy { $0.name == "the sum" && $0.expected == 6 })
        #expect(twice.map(\.found) == [7, 8, 9])
        let never = try await Self.check(journal) { store, entry, steps in
            store.position = entry.position
            try steps.pass("the position")
            store.sum += entry.event.number
            try steps.pass("the sum")
        }
        #expect(never.map(\.found) == [5, 4, 3])
        await journal.close()
        withExtendedLifetime(scratch) {}
    }

    @Test("J17: a state and a position that change together are found right", .timeLimit(.minutes(1)))
    func together() async throws {
        let (journal, scratch) = try await Self.journal()
        let findings = try await Self.check(journal) { store, entry, steps in
            try steps.pass("before")
            (store.sum, store.position) = (store.sum + entry.event.number, entry.position)
            try steps.pass("after")
        }
        #expect(findings.isEmpty)
        await journal.close()
        withExtendedLifetime(scratch) {}
    }

    @Test("A check that cannot find anything says so", .timeLimit(.minutes(1)))
    func unusable() async throws {
        let (journal, scratch) = try await Self.journal()
        await #expect(throws: ProjectionCheck.Unusable.noSteps) { _ = try await Self.check(journal) { _, _, _ in } }
        await #expect(throws: ProjectionCheck.Unusable.hasGoneOn(afterStep: 1)) {
            _ = try await Self.check(journal) { store, entry, steps in
                try? steps.pass("caught")
                store.position = entry.position
            }
        }
        await journal.close()
        withExtendedLifetime(scratch) {}
    }
}
