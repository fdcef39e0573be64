import Locks
import Synchronization

/// How many events lie in a line or a buffer, and who waits for it to take events again.
///
/// Everything here is guarded by the lock of what it belongs to, but for the counting of events that leave.
final class Room: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock` or atomic.

    /// How many events wait for one handler on a queue or in a task before `send` waits.
    static let lineLimit = 4_096

    private let lock: Lock
    let limit: Int
    private var entered = 0
    /// Counted by the consumer, which takes no lock for each event.
    private let left: UnsafeMutablePointer<Atomic<Int>>
    /// What publishers have last seen in `left`.
    private var knownLeft = 0
    /// Places of those who were told to come and whose event does not lie here yet.
    private var promised = 0
    /// No sender waits for a consumer that does not take anything.
    private var isOpen: Bool
    private var waiters: [(ticket: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    /// Whether there are waiters, for the consumer to see.
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

    // MARK: - Events

    /// An event has come; called with the lock held.
    func enter() {
        entered += 1
    }

    /// An event is gone.
    ///
    /// Called without the lock.
    func leave() {
        left.pointee.add(1, ordering: .sequentiallyConsistent)
        guard isAwaited.load(ordering: .sequentiallyConsistent) else { return }
        for waiter in lock.withLock({ admit() }) { waiter.resume() }
    }

    /// An event is gone whose place no sender waits for; called with the lock held.
    func leaveUnnoticed() {
        left.pointee.add(1, ordering: .relaxed)
    }

    /// Whether so many events lie here; called with the lock held.
    func holds(_ count: Int) -> Bool {
        if entered - knownLeft < count { return false }
        knownLeft = left.pointee.load(ordering: .relaxed)
        return entered - knownLeft >= count
    }

    // MARK: - Those who wait

    /// From now on no sender waits; called with the lock held.
    ///
    /// - Returns: The senders that need not wait any longer, to be resumed without the lock.
    func open() -> [CheckedContinuation<Void, any Error>] {
        isOpen = true
        return admit()
    }

    /// From now on senders wait for a place; called with the lock held.
    func close() {
        isOpen = false
    }

    private func admit() -> [CheckedContinuation<Void, any Error>] {
        defer { isAwaited.store(!waiters.isEmpty, ordering: .sequentiallyConsistent) }
        guard !waiters.isEmpty, isFree else { return [] }
        // One for each free place, the longest waiting first: who comes after waits for the next.
        let count = isOpen ? waiters.count : min(waiters.count, limit - used - promised)
        promised += count
        defer { waiters.removeFirst(count) }
        return waiters.prefix(count).map(\.continuation)
    }

    /// Gives a promised place back: the event lies here, or does not come.
    func giveBack() {
        let ready = lock.withLock {
            promised -= 1
            return admit()
        }
        for waiter in ready { waiter.resume() }
    }

    /// Returns when there is a place, which is the caller's until ``giveBack()``: many who were told of one place would
    /// fill many, and one who was told and did not come would leave the others waiting for ever.
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

    /// - Returns: The outcome, if it is known at once, and who need not wait any longer.
    private func enqueue(
        _ continuation: CheckedContinuation<Void, any Error>,
        _ ticket: Int
    ) -> (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) {
        if cancelled.contains(ticket) { return (.failure(CancellationError()), []) }
        // Not past those who wait already.
        if isOpen || (waiters.isEmpty && isFree) {
            promised += 1
            return (.success(()), [])
        }
        waiters.append((ticket, continuation))
        // Before another look at the room: an event that leaves now either is seen, or its consumer sees this.
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        return (nil, admit())
    }
}
