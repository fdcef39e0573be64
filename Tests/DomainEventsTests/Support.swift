import BridgePlatform
import DomainEvents
import Locks
import Synchronization
import TestSupport
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

/// A stop sign for async handlers: each handler that arrives waits until it is opened.
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

/// An object whose end is noticed.
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

/// A place where many threads put a value and take it out.
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
    /// One entry for each sleeper that has begun to sleep.
    let asleep = Collected<Int>()

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
                if isCancelled { continuation.resume(throwing: CancellationError()) } else { asleep.add(number) }
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

/// Lets other threads run, for a wait that another thread is about to end.
func yieldNow() { sched_yield() }
