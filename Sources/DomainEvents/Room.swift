import Locks
import Synchronization

/// How many events lie in a strand or a buffer, and which senders wait for room there.
///
/// The lock of that strand or buffer guards everything here, except the count of events that have left.
final class Room: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic.

    /// How many events wait for one handler on a queue or in a task before `send` waits.
    static let strandLimit = 4_096

    private static let numbers = Atomic(0)

    /// The room's place in the order in which rooms were made.
    let number = Room.numbers.wrappingAdd(1, ordering: .relaxed).newValue
    private let lock: Lock
    let limit: Int
    private var entered = 0
    /// How many events have left; most consumers count each event without taking a lock.
    private let left: UnsafeMutablePointer<Atomic<Int>>
    /// The value of `left` that a publisher saw last.
    private var knownLeft = 0
    /// Places that are kept for senders whose event does not lie here yet.
    private var promised = 0
    /// True if no sender has to wait: the consumer takes no events, or is a journal.
    private var isOpen: Bool
    private var waiters: [(ticket: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    /// Whether senders wait; the consumer reads this without the lock.
    private let isAwaited = Atomic<Bool>(false)
    private var cancelled: Set<Int> = []
    private var tickets = 0

    init(lock: Lock, limit: Int, isOpen: Bool = false) {
        self.lock = lock
        self.limit = limit
        self.isOpen = isOpen
        left = allocateAlone(Atomic<Int>.self)
        left.initialize(to: Atomic(0))
    }

    deinit {
        left.deinitialize(count: 1)
        UnsafeMutableRawPointer(left).deallocate()
    }

    private var used: Int { entered - left.pointee.load(ordering: .sequentiallyConsistent) }

    private var isFree: Bool { isOpen || used + promised < limit }

    /// Whether a new sender need not wait; it does not overtake the senders that wait already.
    private var takesNewSender: Bool { isOpen || (waiters.isEmpty && isFree) }

    // MARK: - Events

    /// Counts an event that has come; called with the lock held.
    func enter() {
        entered += 1
    }

    /// Counts an event that has left, and resumes senders that now have room.
    ///
    /// Called without the lock.
    func leave() {
        left.pointee.add(1, ordering: .sequentiallyConsistent)
        guard isAwaited.load(ordering: .sequentiallyConsistent) else { return }
        for waiter in lock.withLock({ admit() }) { waiter.resume() }
    }

    /// Counts an event that has left and whose place no sender waits for; called with the lock held.
    func leaveUnnoticed() {
        left.pointee.add(1, ordering: .relaxed)
    }

    /// Whether at least `count` events lie here; called with the lock held.
    func holds(_ count: Int) -> Bool {
        if entered - knownLeft < count { return false }
        knownLeft = left.pointee.load(ordering: .relaxed)
        return entered - knownLeft >= count
    }

    // MARK: - Waiting senders

    /// Lets senders pass without a wait from now on; called with the lock held.
    ///
    /// - Returns: The senders that need not wait any longer; the caller resumes them without the lock.
    func open() -> [CheckedContinuation<Void, any Error>] {
        isOpen = true
        return admit()
    }

    /// Makes senders wait for a place from now on; called with the lock held.
    func close() {
        isOpen = false
    }

    private func admit() -> [CheckedContinuation<Void, any Error>] {
        defer { isAwaited.store(!waiters.isEmpty, ordering: .sequentiallyConsistent) }
        guard !waiters.isEmpty, isFree else { return [] }
        // One sender for each free place, the longest waiting first; the others wait for the next place.
        let count = isOpen ? waiters.count : min(waiters.count, limit - used - promised)
        promised += count
        defer { waiters.removeFirst(count) }
        return waiters.prefix(count).map(\.continuation)
    }

    /// Gives a promised place back: the event lies here by now, or does not come.
    func giveBack() {
        let ready = lock.withLock {
            promised -= 1
            return admit()
        }
        for waiter in ready { waiter.resume() }
    }

    /// Keeps a place for the caller until ``giveBack()``, if the caller need not wait for it.
    ///
    /// - Returns: Whether the place is kept; also false if another thread holds the lock for more than a few tries, as
    ///   while it waits for a journal's file system.
    func reserveAtOnce() -> Bool {
        guard lock.tryLockSoon() else { return false }
        defer { lock.unlock() }
        guard takesNewSender else { return false }
        promised += 1
        return true
    }

    /// Returns when there is a place, which the caller keeps until ``giveBack()``.
    ///
    /// If places were not kept, many senders could be resumed for one place. And a resumed sender that did not take the
    /// place would leave the others waiting for ever.
    /// - Throws: `CancellationError` if the task is cancelled first.
    func reserve() async throws {
        let ticket = lock.withLock {
            tickets += 1
            return tickets
        }
        defer { lock.withLock { _ = cancelled.remove(ticket) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (result, ready) = lock.withLock { enqueue(continuation, ticket) }
                if let result { continuation.resume(with: result) }
                for waiter in ready { waiter.resume() }
            }
        } onCancel: {
            Simulation.undivided {
                let continuation: CheckedContinuation<Void, any Error>? = lock.withLock {
                    guard let index = waiters.firstIndex(where: { $0.ticket == ticket }) else {
                        cancelled.insert(ticket)
                        return nil
                    }
                    return waiters.remove(at: index).continuation
                }
                continuation?.resume(throwing: CancellationError())
            }
        }
    }

    /// - Returns: The outcome, nil if the sender has to wait; and the senders that need not wait any longer.
    private func enqueue(
        _ continuation: CheckedContinuation<Void, any Error>,
        _ ticket: Int
    ) -> (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) {
        if cancelled.contains(ticket) { return (.failure(CancellationError()), []) }
        if takesNewSender {
            promised += 1
            return (.success(()), [])
        }
        waiters.append((ticket, continuation))
        // The flag is set before `admit` looks at the room again: either `admit` sees an event that leaves now, or the
        // consumer that takes that event sees the flag.
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        return (nil, admit())
    }
}
