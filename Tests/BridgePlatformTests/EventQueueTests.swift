import TestSupport
import Testing

@testable import BridgePlatform

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

#if os(Linux)
extension PlatformTests {
    @Suite("A poller's queue waits where the system refuses a call")
    struct EventQueueTests {
        @Test("A wait brings its events where a sandbox refuses the call with a nanosecond timeout")
        func preciseWaitRefused() async {
            await #expect(processExitsWith: .success) {
                guard MissingSystemCalls.installForPreciseWaits() else {
                    return CurrentProcess.report("not tested: a refused epoll_pwait2, as this system has no filters")
                }
                let queue = try EventQueue()
                let pipe = try FileDescriptor.pipe()
                try queue.add(pipe.reading.rawValue, .readable, token: 7)
                // The pipe stays readable, so each wait has to find it.
                writeAll(pipe.writing.rawValue, [1])
                for limit in [nil, 1_000_000, 60_000_000_000] as [UInt64?] {
                    let count = queue.wait(atMost: limit)
                    let tokens = (0..<count).compactMap { queue.event(at: $0)?.token }
                    #expect(tokens == [7])
                }
            }
        }

        @Test("A queue that cannot watch its own wake-up is not made, and frees its memory once")
        func watchRefused() async {
            await #expect(processExitsWith: .success) {
                guard MissingSystemCalls.installForWatches() else {
                    return CurrentProcess.report("not tested: a refused watch, as this system has no filters")
                }
                // The C library ends a process that frees memory twice, at the latest when it hands the memory out.
                for _ in 0..<10 {
                    let error = #expect(throws: SystemError.self) { _ = try EventQueue() }
                    #expect(error?.code == ENOSPC)
                }
            }
        }
    }

    @Suite("A poller's queue takes deadlines of other threads")
    struct EventQueueDeadlineTests {
        @Test("A deadline ends one wait, ends it no earlier, and replaces the deadline before it")
        func deadlines() throws {
            let queue = try EventQueue()
            for _ in 0..<3 {
                let deadline = MonotonicClock.now() + 2_000_000
                #expect(queue.wake(at: .max))
                #expect(queue.wake(at: deadline))
                let count = queue.wait(atMost: watchdogNanoseconds)
                #expect(MonotonicClock.now() >= deadline)
                #expect(count == 1)
                let tokens = (0..<count).compactMap { queue.event(at: $0)?.token }
                #expect(tokens.isEmpty)
                let countAfter = queue.wait(atMost: 0)
                #expect(countAfter == 0)
            }
        }

        @Test("A timer of another thread lets a sleeping poller sleep on until its deadline")
        func timerOfAnotherThread() throws {
            let queue = NotedQueue(try EventQueue())
            let poller = try Poller(name: "test poller", waitingOn: queue)
            defer { poller.stop() }
            // Once the poller waits, it sleeps without a deadline.
            try queue.waits.wait()
            let called = Mailbox<Int>()
            let late = ([3_600, 60, 7_200] as [UInt64]).map { seconds in
                poller.schedule(after: seconds * 1_000_000_000) { called.put(0) }
            }
            let soon = poller.schedule(after: 1_000_000) { called.put(queue.waits.contents.count) }
            #expect(try called.wait() == [1])
            // The third timer is later than the second.
            #expect(queue.deadlines.contents == [late[0].deadline, late[1].deadline, soon.deadline])
            #expect(queue.wakeUps.contents.isEmpty)
        }
    }
}

/// A queue that notes how its poller uses it.
private final class NotedQueue: PollerQueue {
    private let queue: EventQueue
    /// The time limits of the waits that have begun.
    let waits = Mailbox<UInt64?>()
    let deadlines = Mailbox<UInt64>()
    let wakeUps = Mailbox<Bool>()

    init(_ queue: EventQueue) { self.queue = queue }

    func add(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        try queue.add(descriptor, interest, token: token)
    }

    func change(_ descriptor: CInt, _ interest: Poller.Interest, token: UInt64) throws(SystemError) {
        try queue.change(descriptor, interest, token: token)
    }

    func remove(_ descriptor: CInt) { queue.remove(descriptor) }

    func wake() {
        wakeUps.put(true)
        queue.wake()
    }

    func wake(at deadline: UInt64) -> Bool {
        deadlines.put(deadline)
        return queue.wake(at: deadline)
    }

    func wait(atMost limit: UInt64?) -> Int {
        waits.put(limit)
        return queue.wait(atMost: limit)
    }

    func event(at index: Int) -> (token: UInt64, readiness: Poller.Readiness)? { queue.event(at: index) }
}
#endif
