import Testing

@testable import Journal

@Suite("What a journal does next")
struct StateTests {
    private static func state(_ durability: JournalDurability) -> JournalState {
        JournalState(durability, at: .init(number: 1, offset: 4_096, position: 0))
    }

    @Test("A synchronization that is due comes before the segment that follows")
    func dueSynchronization() {
        var state = Self.state(.machine(within: .nanoseconds(50)))
        _ = state.eventWritten(end: 5_000, isAwaited: false) { 100 }
        #expect(state.work(at: 149) == .makeSpare)
        #expect(state.work(at: 150) == .synchronize)
        state.spareMade()
        #expect(state.work(at: 149) == .wait(until: 150))
    }

    @Test("What is not safe behind a synchronization is as old as its beginning")
    func unsafeSince() {
        var state = Self.state(.machine(within: .nanoseconds(50)))
        state.spareMade()
        _ = state.eventWritten(end: 5_000, isAwaited: false) { 100 }
        let mark = state.accepted
        _ = state.eventWritten(end: 6_000, isAwaited: false) { 170 }
        state.synchronized(to: mark, since: 150)
        #expect(state.unsafeSince == 150)
        #expect(state.work(at: 199) == .wait(until: 200))
    }

    @Test("J6: without room, events have the next segment tried again now and then, and are refused at once")
    func retries() {
        var state = Self.state(.process)
        let error = JournalError(.full, "no room")
        state.spareNotMade(error, at: 1_000)
        #expect(state.work(at: 1_000) == .wait(until: nil))
        state.spareNeeded(at: 2_000)
        #expect(state.work(at: 2_000) == .wait(until: nil))
        state.spareNeeded(at: 1_000_000_000)
        #expect(state.work(at: 1_000_000_000) == .makeSpare)
        // While the new attempt is made, and after it.
        #expect(state.noRoom == error)
        state.spareNotMade(error, at: 2_000_000_000)
        #expect(state.work(at: 2_000_000_000) == .wait(until: nil))
        state.spareNeeded(at: 3_000_000_000)
        state.spareMade()
        #expect(state.noRoom == nil)
        #expect(state.work(at: 3_000_000_000) == .wait(until: nil))
    }
}
