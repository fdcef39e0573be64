import Locks

/// Who waits for a line or a buffer to take events again.
///
/// Everything here is guarded by the lock of what it belongs to.
final class Room: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// How many events wait for one handler on a queue or in a task before `send` waits.
    static let lineLimit = 4_096

    private let lock: Lock
    let limit: Int
    private var used = 0
    /// Places of those who were told to come and whose event does not lie here yet.
    private var promised = 0
    /// Nobody waits for a consumer that does not take anything.
    private var isOpen = false
    private var waiters: [(ticket: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    private var cancelled: Set<Int> = []
    private var tickets = 0

    init(lock: Lock, limit: Int) {
        self.lock = lock
        self.limit = limit
    }

    var hasRoom: Bool { lock.withLock { isFree } }

    private var isFree: Bool { used + promised < limit || isOpen }

    /// An event has come; called with the lock held.
    func fill(used: Int) {
        self.used = used
    }

    /// Called with the lock held.
    ///
    /// - Returns: Those who need not wait any longer, to be resumed without it.
    func update(used: Int, isOpen: Bool) -> [CheckedContinuation<Void, any Error>] {
        self.used = used
        self.isOpen = isOpen
        return admit()
    }

    private func admit() -> [CheckedContinuation<Void, any Error>] {
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

    /// Returns when there is a place, which is the caller's until ``giveBack()``: many who were told of one place would fill
    /// many, and one who was told and did not come would leave the others waiting for ever.
    /// - Throws: `CancellationError` if the task is cancelled first.
    func reserve() async throws {
        let ticket = lock.withLock {
            tickets += 1
            return tickets
        }
        defer { lock.withLock { _ = cancelled.remove(ticket) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let result: Result<Void, any Error>? = lock.withLock {
                    if cancelled.contains(ticket) { return .failure(CancellationError()) }
                    // Not past those who wait already.
                    if isOpen || (waiters.isEmpty && isFree) {
                        promised += 1
                        return .success(())
                    }
                    waiters.append((ticket, continuation))
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
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
