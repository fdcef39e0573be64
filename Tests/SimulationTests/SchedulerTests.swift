import BridgePlatform
import Locks
import Synchronization
import Testing

@testable import EventBridgeTesting

@Suite(.timeLimit(.minutes(2)))
struct SchedulerTests {
    /// Runs a world in which only `body` happens; the caller is a thread outside that world.
    private func run(
        seed: UInt64,
        preemption: UInt64 = 8,
        _ body: @escaping @Sendable () -> Void
    ) async -> (end: Scheduler.End, trace: Trace, now: UInt64) {
        await withCheckedContinuation { continuation in
            _ = started("outside") {
                let scheduler = Scheduler(choices: Choices(seed: seed), keepsTrace: true)
                scheduler.shuffles = true
                scheduler.interrupt(preempting: preemption, jumping: 0)
                let end = scheduler.run {
                    body()
                    scheduler.close()
                }
                continuation.resume(returning: (end, scheduler.trace, scheduler.now))
            }
        }
    }

    /// Records what threads do, in the order in which they do it.
    private final class Log: @unchecked Sendable {
        private let lock = Lock()
        private var entries: [Int] = []
        func add(_ entry: Int) { lock.withLock { entries.append(entry) } }
        var all: [Int] { lock.withLock { entries } }
    }

    private func threeThreads(_ log: Log) {
        let threads = (1...3).map { number in
            started("t\(number)") {
                for _ in 0..<20 { log.add(number) }
            }
        }
        for thread in threads { thread.join() }
    }

    @Test("The same seed gives the same order of threads, another seed another one")
    func order() async {
        var orders: Set<[Int]> = []
        for seed in 1...20 as ClosedRange<UInt64> {
            let (first, second) = (Log(), Log())
            let one = await run(seed: seed) { threeThreads(first) }
            let two = await run(seed: seed) { threeThreads(second) }
            #expect(one.end == .finished)
            #expect(first.all.count == 60)
            #expect(first.all == second.all)
            #expect(one.trace.entries == two.trace.entries)
            orders.insert(first.all)
        }
        #expect(orders.count == 20)
    }

    @Test("Time passes only when no thread can go on, and then at once")
    func time() async {
        let slept = Atomic<UInt64>(0)
        let began = ContinuousClock.now
        _ = await run(seed: 1) {
            let lock = Lock()
            let condition = Condition(lock: lock)
            let before = MonotonicClock.now()
            lock.withLock { while condition.wait(untilNanoseconds: before + 3_600_000_000_000) {} }
            slept.store(MonotonicClock.now() - before, ordering: .relaxed)
        }
        #expect(slept.load(ordering: .relaxed) >= 3_600_000_000_000)
        #expect(slept.load(ordering: .relaxed) < 3_600_001_000_000)
        #expect(ContinuousClock.now - began < .seconds(60))
    }

    @Test("A thread that slept when its process was killed comes to its end when the process is revived")
    func revival() async {
        let woke = Atomic(false)
        let result = await run(seed: 1) {
            guard let scheduler = (Simulation.thread as? WorldThread)?.scheduler else { return }
            let process = scheduler.makeProcess(name: "sleeping")
            let sleeper = scheduler.start(name: "sleeper", in: process) {
                scheduler.sleep(nanoseconds: 1_000_000)
                woke.store(true, ordering: .relaxed)
            }
            scheduler.sleep(nanoseconds: 100_000)
            scheduler.kill(process)
            // The sleep's deadline comes while the process is dead.
            scheduler.sleep(nanoseconds: 10_000_000)
            scheduler.revive(process)
            scheduler.join(sleeper)
        }
        let hasWoken = woke.load(ordering: .relaxed)
        #expect(result.end == .finished)
        #expect(hasWoken)
    }

    @Test("The work of a queue does not wait for a killed process that used the same object as its queue")
    func queueOfKilledProcess() async {
        let ran = Atomic(false)
        let result = await run(seed: 1) {
            guard let scheduler = (Simulation.thread as? WorldThread)?.scheduler else { return }
            let queue = Log()
            let process = scheduler.makeProcess(name: "killed")
            scheduler.perform(on: queue, of: process) { scheduler.sleep(nanoseconds: 1_000_000) }
            scheduler.sleep(nanoseconds: 100_000)
            scheduler.kill(process)
            scheduler.perform(on: queue, of: scheduler.host) { ran.store(true, ordering: .relaxed) }
            scheduler.sleep(nanoseconds: 10_000_000)
            let hasRun = ran.load(ordering: .relaxed)
            #expect(hasRun)
            scheduler.revive(process)
            scheduler.sleep(nanoseconds: 10_000_000)
        }
        #expect(result.end == .finished)
    }

    @Test("No other thread runs while one is undivided, as a cancellation handler is")
    func undivided() async {
        for seed in 1...20 as ClosedRange<UInt64> {
            let log = Log()
            let result = await run(seed: seed, preemption: 2) {
                let others = (2...3).map { number in started("t\(number)") { for _ in 0..<20 { log.add(number) } } }
                let whole = started("whole") { Simulation.undivided { for _ in 0..<20 { log.add(1) } } }
                for thread in others + [whole] { thread.join() }
            }
            #expect(result.end == .finished)
            let begin = log.all.firstIndex(of: 1) ?? 0
            #expect(log.all.dropFirst(begin).prefix(20).allSatisfy { $0 == 1 }, "seed \(seed): \(log.all)")
            #expect(log.all.count == 60)
        }
    }

    @Test("A deadlock ends the world, and names the threads that wait")
    func deadlock() async {
        let result = await run(seed: 3) {
            let lock = Lock()
            let condition = Condition(lock: lock)
            lock.withLock { condition.wait() }
        }
        guard case .deadlock(let threads) = result.end else {
            Issue.record("\(result.end)")
            return
        }
        #expect(threads.count == 1)
        #expect(threads.first?.hasPrefix("host/main 1") == true)
    }

    @Test("A race that is lost in few orders is found")
    func race() async {
        // It reads and writes under the lock, but in two steps.
        final class Counter: @unchecked Sendable {
            private let lock = Lock()
            private var value = 0
            func increment() {
                let read = lock.withLock { value }
                lock.withLock { value = read + 1 }
            }
            var now: Int { lock.withLock { value } }
        }
        var lost = 0
        for seed in 1...50 as ClosedRange<UInt64> {
            let counter = Counter()
            _ = await run(seed: seed) {
                let threads = (0..<2).map { _ in
                    started("t") { for _ in 0..<3 { counter.increment() } }
                }
                for thread in threads { thread.join() }
            }
            if counter.now < 6 { lost += 1 }
        }
        #expect(lost > 5)
    }

    @Test("A poller's timers and work run in a world")
    func poller() async {
        let log = Log()
        let result = await run(seed: 5) {
            let poller = made { () throws(SystemError) in try Poller(name: "poller") }
            poller.schedule(after: 2_000_000_000) { log.add(2) }
            poller.schedule(after: 1_000_000_000) { log.add(1) }
            poller.perform { log.add(0) }
            let lock = Lock()
            let condition = Condition(lock: lock)
            let end = MonotonicClock.now() + 3_000_000_000
            lock.withLock { while condition.wait(untilNanoseconds: end) {} }
            poller.stop()
        }
        #expect(result.end == .finished)
        #expect(log.all == [0, 1, 2])
    }

    @Test("Worlds run beside one another")
    func several() async {
        await withTaskGroup { group in
            for seed in 1...8 as ClosedRange<UInt64> {
                group.addTask {
                    let (first, second) = (Log(), Log())
                    _ = await run(seed: seed) { threeThreads(first) }
                    _ = await run(seed: seed) { threeThreads(second) }
                    #expect(first.all == second.all)
                }
            }
        }
    }
}

/// Starts a thread; every system has enough threads for a test.
private func started(_ name: String, _ body: @escaping @Sendable () -> Void) -> PlatformThread {
    made { () throws(SystemError) in try PlatformThread.startJoinable(name: name, body) }
}

private func made<Made>(_ make: () throws(SystemError) -> Made) -> Made {
    do {
        return try make()
    } catch {
        fatalError("\(error)")
    }
}
