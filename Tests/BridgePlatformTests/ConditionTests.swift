import BridgePlatform
import Locks
import TestSupport
import Testing

/// A counter that only its lock makes safe.
private final class Guarded: @unchecked Sendable {
    let lock = Lock()
    var count = 0
}

@Suite("A condition wakes those who wait for it")
struct ConditionTests {
    @Test(.timeLimit(.minutes(5)))
    func everyWaiterIsWokenByABroadcast() async {
        let guarded = Guarded()
        let condition = Condition(lock: guarded.lock)
        await onThreads(3) { index in
            guarded.lock.withLock {
                guarded.count += 1
                if guarded.count == 3 { condition.broadcast() }
                while guarded.count < 3 { condition.wait() }
            }
        }
        #expect(guarded.count == 3)
    }

    @Test(.timeLimit(.minutes(5)))
    func aWaitEndsAtItsDeadlineAndNotBefore() {
        let lock = Lock()
        let condition = Condition(lock: lock)
        let deadline = MonotonicClock.now() + 5_000_000
        lock.withLock {
            while condition.wait(untilNanoseconds: deadline) {}
        }
        #expect(MonotonicClock.now() >= deadline)
    }

    @Test(.timeLimit(.minutes(5)))
    func aDeadlineInThePastEndsTheWaitAtOnce() {
        let lock = Lock()
        let condition = Condition(lock: lock)
        #expect(lock.withLock { condition.wait(untilNanoseconds: 0) } == false)
    }

    @Test(.timeLimit(.minutes(5)))
    func theFarthestDeadlineIsAWaitThatASignalEnds() async {
        let guarded = Guarded()
        let condition = Condition(lock: guarded.lock)
        await onThreads(2) { index in
            guarded.lock.withLock {
                if index == 0 {
                    while guarded.count == 0 { condition.wait(untilNanoseconds: .max) }
                } else {
                    guarded.count = 1
                    condition.signal()
                }
            }
        }
        #expect(guarded.count == 1)
    }
}
