import Locks
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A counter that only its lock makes safe.
private final class Guarded: @unchecked Sendable {
    let lock = Lock()
    var count = 0
}

@Suite("A lock lets one thread in at a time")
struct LockTests {
    @Test(.timeLimit(.minutes(5)))
    func noIncrementIsLostBetweenThreads() async {
        let guarded = Guarded()
        await onThreads(4) { _ in
            for _ in 0..<10_000 { guarded.lock.withLock { guarded.count += 1 } }
        }
        #expect(guarded.count == 40_000)
    }

    @Test(.timeLimit(.minutes(5)))
    func tryLockFailsOnAnotherThreadWhileHeld() async {
        let lock = Lock()
        let isHeld = Atomic<Bool>(false)
        let wasTried = Atomic<Bool>(false)
        let taken = Atomic<Bool>(true)
        await onThreads(2) { index in
            if index == 0 {
                lock.lock()
                isHeld.store(true, ordering: .releasing)
                while !wasTried.load(ordering: .acquiring) { sched_yield() }
                lock.unlock()
            } else {
                while !isHeld.load(ordering: .acquiring) { sched_yield() }
                taken.store(lock.tryLock(), ordering: .relaxed)
                wasTried.store(true, ordering: .releasing)
            }
        }
        let wasTaken = taken.load(ordering: .relaxed)
        #expect(!wasTaken)
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
    func eachThreadSeesItsOwnObjectAndLetsGoOfItAtItsEnd() async {
        let before = releases.load(ordering: .relaxed)
        let slot = ThreadSpecific<Occupant>(.test)
        let mismatches = Atomic<Int>(0)
        await onThreads(4) { index in
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
