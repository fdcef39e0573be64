import BridgePlatform
import Locks
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Threads of the operating system, joined at the end: the cooperative pool must not be blocked by a test.
func onThreads(_ count: Int, _ body: @Sendable @escaping (Int) -> Void) {
    final class Start {
        let body: @Sendable () -> Void
        init(_ body: @Sendable @escaping () -> Void) { self.body = body }
    }
    let threads = (0..<count).map { index in
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start { body(index) }).toOpaque()
        let result = pthread_create(
            &thread,
            nil,
            { pointer in
                guard let pointer else { return nil }
                Unmanaged<Start>.fromOpaque(pointer).takeRetainedValue().body()
                return nil
            },
            start
        )
        precondition(result == 0)
        return thread
    }
    for thread in threads { pthread_join(thread, nil) }
}

func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// A counter that only its lock makes safe.
private final class Guarded: @unchecked Sendable {
    let lock = Lock()
    var count = 0
}

@Suite("A condition wakes those who wait for it")
struct ConditionTests {
    @Test(.timeLimit(.minutes(5)))
    func everyWaiterIsWokenByABroadcast() {
        let guarded = Guarded()
        let condition = Condition(lock: guarded.lock)
        onThreads(3) { index in
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
        let deadline = monotonicNow() + 5_000_000
        lock.withLock {
            while condition.wait(untilNanoseconds: deadline) {}
        }
        #expect(monotonicNow() >= deadline)
    }

    @Test(.timeLimit(.minutes(5)))
    func aDeadlineInThePastEndsTheWaitAtOnce() {
        let lock = Lock()
        let condition = Condition(lock: lock)
        #expect(lock.withLock { condition.wait(untilNanoseconds: 0) } == false)
    }

    @Test(.timeLimit(.minutes(5)))
    func theFarthestDeadlineIsAWaitThatASignalEnds() {
        let guarded = Guarded()
        let condition = Condition(lock: guarded.lock)
        onThreads(2) { index in
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
