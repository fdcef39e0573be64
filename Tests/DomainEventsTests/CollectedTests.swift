import TestSupport
import Testing

@Suite("What a test waits for", .timeLimit(.minutes(5)))
struct CollectedTests {
    @Test("and what never comes ends with the test's time limit, which cancels its task")
    func cancelled() async {
        for round in 0..<rounds(1_000) {
            let collected = Collected<Int>()
            let waits = Task { await collected.wait(for: 2) }
            collected.add(round)
            // Before the task waits, or while it waits.
            if round % 2 == 0 { await Task.yield() }
            waits.cancel()
            #expect(await waits.value == [round])
        }
    }
}
