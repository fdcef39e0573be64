import EventBridgeTesting
import Testing

@Suite("A manual clock moves when it is told to", .timeLimit(.minutes(5)))
struct ManualClockTests {
    private let clock = ManualClock()

    @Test func sleepersWakeWhenTheirTimeHasCome() async throws {
        let task = Task { [clock] in
            try await clock.sleep(for: .seconds(30))
            return clock.now.sinceStart
        }
        try await clock.waitForSleepers(1)
        clock.advance(by: .seconds(29))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        #expect(try await task.value == .seconds(30))
        #expect(clock.sleeperCount == 0)
    }

    /// Each step wakes the sleepers whose time has come and no others; the executor decides in which order they run.
    @Test func theyWakeWhenTheirDeadlineHasCome() async throws {
        let tasks = [3, 1, 2, 1].map { seconds in
            Task { [clock] in try await clock.sleep(for: .seconds(seconds)) }
        }
        try await clock.waitForSleepers(4)
        clock.advance(by: .seconds(1))
        try await tasks[1].value
        try await tasks[3].value
        #expect(clock.sleeperCount == 2)
        clock.advance(by: .seconds(1))
        try await tasks[2].value
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(5))
        try await tasks[0].value
        #expect(clock.sleeperCount == 0)
    }

    @Test func aDeadlineThatHasPassedDoesNotWait() async throws {
        clock.advance(by: .seconds(2))
        try await clock.sleep(until: clock.now)
        try await clock.sleep(for: .zero)
        #expect(clock.now.duration(to: clock.now.advanced(by: .seconds(1))) == .seconds(1))
    }

    @Test func aCancelledSleepThrowsBeforeInAndAfterItsBeginning() async throws {
        for round in 0..<300 {
            let task = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
            for _ in 0..<(round % 4) { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(clock.sleeperCount == 0)
    }

    @Test func aWaiterForSleepersHearsOfThemAndMayBeCancelled() async throws {
        try await clock.waitForSleepers(0)
        let cancelled = Task { [clock] in try await clock.waitForSleepers(3) }
        let waiting = Task { [clock] in try await clock.waitForSleepers(2) }
        let sleepers = (0..<2).map { _ in Task { [clock] in try await clock.sleep(for: .seconds(1)) } }
        try await waiting.value
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        clock.advance(by: .seconds(1))
        for sleeper in sleepers { try await sleeper.value }
    }
}
