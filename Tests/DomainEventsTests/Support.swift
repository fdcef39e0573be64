import DomainEvents
import Locks
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

struct Ping: DomainEvent, Equatable {
    let number: Int
    init(_ number: Int = 0) { self.number = number }
}

struct Pong: DomainEvent, Equatable {
    let number: Int
    init(_ number: Int = 0) { self.number = number }
}

struct Refused: Error, Equatable, CustomStringConvertible {
    let number: Int
    var description: String { "refused \(number)" }
}

/// What handlers have written down, in order, and a wait for the next lines.
///
/// `@unchecked Sendable` is sound: everything mutable is guarded by `lock`.
final class Log<Entry: Sendable>: @unchecked Sendable {
    private let lock = Lock()
    private var written: [Entry] = []
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    var entries: [Entry] { lock.withLock { written } }
    var count: Int { lock.withLock { written.count } }

    func write(_ entry: Entry) {
        let ready = lock.withLock {
            written.append(entry)
            let ready = waiters.filter { $0.count <= written.count }
            waiters.removeAll { $0.count <= written.count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// All entries, once there are `count`.
    @discardableResult
    func wait(for count: Int) async -> [Entry] {
        await withCheckedContinuation { continuation in
            let isReady = lock.withLock {
                if written.count >= count { return true }
                waiters.append((count, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return entries
    }
}

/// An async handler's stop sign: whoever arrives waits until it is opened.
///
/// `@unchecked Sendable` is sound: everything mutable is guarded by `lock`.
final class Barrier: @unchecked Sendable {
    private let lock = Lock()
    private var isOpen = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = lock.withLock {
                if !self.isOpen { waiters.append(continuation) }
                return self.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let ready = lock.withLock {
            isOpen = true
            defer { waiters = [] }
            return waiters
        }
        for waiter in ready { waiter.resume() }
    }
}

final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}

final class Counter: Sendable {
    private let value = Atomic<Int>(0)
    var count: Int { value.load(ordering: .acquiring) }
    @discardableResult
    func add(_ amount: Int = 1) -> Int { value.add(amount, ordering: .acquiringAndReleasing).newValue }
    func waitSpinning(for count: Int) {
        while self.count < count { sched_yield() }
    }
}

/// Something whose end is noticed.
final class Tracked: Sendable {
    private let live: Counter
    private let atEnd: (@Sendable () -> Void)?

    init(_ live: Counter, atEnd: (@Sendable () -> Void)? = nil) {
        self.live = live
        self.atEnd = atEnd
        live.add()
    }

    deinit {
        atEnd?()
        live.add(-1)
    }
}

/// A place for one value that many threads put in and take out.
///
/// `@unchecked Sendable` is sound: `value` is guarded by `lock`.
final class Holder<Value: Sendable>: @unchecked Sendable {
    private let lock = Lock()
    private var value: Value?

    @discardableResult
    func swap(_ new: Value?) -> Value? {
        lock.withLock {
            let old = value
            value = new
            return old
        }
    }

    var current: Value? { lock.withLock { value } }
}

/// Runs `body` on threads of the operating system: the cooperative pool must not be blocked by a test that spins or waits.
func onThreads(_ count: Int, _ body: @Sendable @escaping (Int) -> Void) async {
    final class Start {
        let body: @Sendable () -> Void
        init(_ body: @Sendable @escaping () -> Void) { self.body = body }
    }
    let ended = Log<Int>()
    for index in 0..<count {
        var thread = pthread_t()
        let start = Unmanaged.passRetained(
            Start {
                body(index)
                ended.write(index)
            }
        ).toOpaque()
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
        pthread_detach(thread)
    }
    await ended.wait(for: count)
}

func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The rounds of a test that provokes a race: so many, but none that begins after two seconds.
///
/// Where other work wants the processors too, each yield of a round costs a time slice, and all rounds could take minutes.
func rounds(atMost count: Int) -> some Sequence<Int> {
    let end = monotonicNow() + 2_000_000_000
    return sequence(first: 0) { $0 + 1 < count && monotonicNow() < end ? $0 + 1 : nil }
}

/// A repeatable source of random values (SplitMix64), whose seed failures name and `DOMAIN_EVENTS_SEED` sets.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    static func seedFromEnvironment() -> UInt64 {
        getenv("DOMAIN_EVENTS_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: 0...(.max))
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}

/// A clock that stands still until a test moves it on.
///
/// `@unchecked Sendable` is sound: everything mutable is guarded by `lock`.
final class HandClock: Clock, @unchecked Sendable {
    struct Instant: InstantProtocol {
        let sinceStart: Duration
        func advanced(by duration: Duration) -> Instant { Instant(sinceStart: sinceStart + duration) }
        func duration(to other: Instant) -> Duration { other.sinceStart - sinceStart }
        static func < (left: Instant, right: Instant) -> Bool { left.sinceStart < right.sinceStart }
    }

    private let lock = Lock()
    private var time = Instant(sinceStart: .zero)
    private var sleepers: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var cancelled: Set<Int> = []
    private var numbers = 0
    /// One line for each sleeper that has lain down.
    let asleep = Log<Int>()

    var now: Instant { lock.withLock { time } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = lock.withLock {
            numbers += 1
            return numbers
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isCancelled = lock.withLock {
                    if cancelled.contains(number) { return true }
                    sleepers[number] = (deadline, continuation)
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) } else { asleep.write(number) }
            }
        } onCancel: {
            let sleeper = lock.withLock {
                cancelled.insert(number)
                return sleepers.removeValue(forKey: number)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    func advance(by duration: Duration) {
        let due = lock.withLock {
            time = time.advanced(by: duration)
            let due = sleepers.filter { $0.value.deadline <= time }
            for number in due.keys { sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }
}

/// How often a test repeats what it tries to catch, from the environment for long runs.
func rounds(_ standard: Int) -> Int {
    getenv("DOMAIN_EVENTS_ROUNDS_FACTOR").flatMap { Double(String(cString: $0)) }
        .map { max(Int(Double(standard) * min(max($0, 0), 10_000)), 1) } ?? standard
}

/// Lets other threads run, for a wait that another thread is about to end.
func yieldNow() { sched_yield() }
