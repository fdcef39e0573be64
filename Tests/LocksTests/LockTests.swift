import Locks
import Synchronization
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

/// A counter that only its lock makes safe.
private final class Guarded: @unchecked Sendable {
    let lock = Lock()
    var count = 0
}

@Suite("A lock lets one thread in at a time")
struct LockTests {
    @Test(.timeLimit(.minutes(5)))
    func noIncrementIsLostBetweenThreads() {
        let guarded = Guarded()
        onThreads(4) { _ in
            for _ in 0..<10_000 { guarded.lock.withLock { guarded.count += 1 } }
        }
        #expect(guarded.count == 40_000)
    }

    @Test(.timeLimit(.minutes(5)))
    func tryLockFailsOnAnotherThreadWhileHeld() {
        let lock = Lock()
        let taken = Atomic<Bool>(true)
        lock.lock()
        onThreads(1) { _ in taken.store(lock.tryLock(), ordering: .relaxed) }
        let wasTaken = taken.load(ordering: .relaxed)
        #expect(!wasTaken)
        lock.unlock()
        #expect(lock.tryLock())
        lock.unlock()
    }

    @Test
    func anErrorKeepsItsTypeAndGivesTheLockBack() {
        struct Refused: Error, Equatable {}
        let lock = Lock()
        func body() throws(Refused) { throw Refused() }
        #expect(throws: Refused()) { try lock.withLock(body) }
        #expect(lock.tryLock())
        lock.unlock()
    }
}

private let releases = Atomic<Int>(0)

private final class Occupant {
    let number: Int
    init(_ number: Int) { self.number = number }
    deinit { releases.add(1, ordering: .relaxed) }
}

@Suite("A thread-specific slot belongs to its thread")
struct ThreadSpecificTests {
    @Test(.timeLimit(.minutes(5)))
    func eachThreadSeesItsOwnObjectAndLetsGoOfItAtItsEnd() {
        let before = releases.load(ordering: .relaxed)
        let slot = ThreadSpecific<Occupant>()
        let mismatches = Atomic<Int>(0)
        onThreads(4) { index in
            if slot.value != nil { mismatches.add(1, ordering: .relaxed) }
            slot.value = Occupant(-1)
            slot.value = Occupant(index)
            if slot.value?.number != index { mismatches.add(1, ordering: .relaxed) }
        }
        let found = (mismatches: mismatches.load(ordering: .relaxed), releases: releases.load(ordering: .relaxed))
        #expect(found.mismatches == 0)
        #expect(slot.value == nil)
        #expect(found.releases == before + 8)
    }
}
