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

    @Test("Notes are synchronized without an event, at most once a second, and with events as these are due")
    func notes() {
        let second: UInt64 = 1_000_000_000
        var state = Self.state(.machine(within: .nanoseconds(50)))
        state.spareMade()
        #expect(state.noteWritten(end: 5_000) { 100 } && !state.noteWritten(end: 5_100) { 200 })
        #expect(state.unsafeSince == nil)
        #expect(state.work(at: 100) == .wait(until: 100 + second))
        #expect(state.work(at: 100 + second) == .synchronize)
        let mark = state.accepted
        #expect(!state.noteWritten(end: 5_200) { 150 + second })
        state.synchronized(to: mark, since: 120 + second)
        #expect(state.work(at: 150 + second) == .wait(until: 120 + 2 * second))
        _ = state.eventWritten(end: 6_000, isAwaited: false) { 200 + second }
        #expect(state.work(at: 200 + second) == .wait(until: 250 + second))
        state.synchronized(to: state.accepted, since: 250 + second)
        #expect(state.work(at: 250 + second) == .wait(until: nil))
        var slow = Self.state(.machine(within: .seconds(5)))
        slow.spareMade()
        #expect(slow.noteWritten(end: 5_000) { 100 } && slow.work(at: 100) == .wait(until: 100 + 5 * second))
        var process = Self.state(.process)
        process.spareMade()
        #expect(!process.noteWritten(end: 5_000) { 100 } && process.work(at: 100) == .wait(until: nil))
    }

    @Test("Waiting notes have a segment made before the journal is closed, if there is room for one")
    func closing() {
        for hasRoom in [true, false] {
            var state = Self.state(.process)
            state.notesWait = true
            state.closeRequested()
            #expect(state.takesNotes && state.work(at: 0) == .makeSpare)
            if hasRoom {
                state.spareMade()
                state.segmentBegun(2, offset: 4_096)
                state.notesWait = false
            } else {
                state.spareNotMade(JournalError(.full, "no room"), at: 0)
            }
            #expect(state.work(at: 0) == .close)
            state.endBegun()
            #expect(!state.takesNotes)
        }
    }

    @Test("J6: without room, events have the next segment tried again now and then, and are refused at once")
    func retries() {
        var state = Self.state(.process)
        let error = JournalError(.full, "no room")
        state.spareNotMade(error, at: 1_000)
        #expect(state.work(at: 1_000) == .wait(until: 5_000_001_000))
        state.spareNeeded(at: 2_000)
        #expect(state.work(at: 2_000) == .wait(until: 5_000_001_000))
        state.spareNeeded(at: 1_000_000_000)
        #expect(state.work(at: 1_000_000_000) == .makeSpare)
        // While the new attempt is made, and after it.
        #expect(state.noRoom == error)
        state.spareNotMade(error, at: 2_000_000_000)
        #expect(state.work(at: 2_000_000_000) == .wait(until: 7_000_000_000))
        state.spareNeeded(at: 3_000_000_000)
        state.spareMade()
        #expect(state.noRoom == nil)
        #expect(state.work(at: 3_000_000_000) == .wait(until: nil))
    }

    @Test("J6: without room, the next segment is tried again before a record needs it")
    func retriesByTime() {
        var state = Self.state(.process)
        state.spareNotMade(JournalError(.full, "no room"), at: 1_000)
        #expect(state.work(at: 5_000_000_999) == .wait(until: 5_000_001_000))
        #expect(state.work(at: 5_000_001_000) == .makeSpare)
        state.spareMade()
        #expect(state.noRoom == nil)
        #expect(state.work(at: 5_000_001_000) == .wait(until: nil))
    }

    @Test("Callers who wait one after the other do not put off the next segment")
    func spareBetweenSynchronizations() {
        var state = Self.state(.machine(within: .zero))
        var mark = state.accepted
        func callerWaits() {
            mark = state.accepted
            _ = state.eventWritten(end: state.accepted.offset + 100, isAwaited: true) { 100 }
        }
        callerWaits()
        #expect(state.work(at: 100) == .synchronize)
        callerWaits()
        state.synchronized(to: mark, since: 100)
        #expect(state.work(at: 100) == .makeSpare)
        state.spareNotMade(JournalError(.full, "no room"), at: 100)
        #expect(state.work(at: 100) == .synchronize)
        callerWaits()
        state.synchronized(to: mark, since: 100)
        #expect(state.work(at: 100) == .synchronize)
    }
}
