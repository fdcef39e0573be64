import BridgePlatform
import Locks

/// The state that a projection's reader shares with other threads, and the callers that wait for a position.
///
/// The reader takes the state out to change it, so no lock is held while rules run, and no copy is made unless a caller
/// holds the state.
final class ProjectedState<State: Projection>: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    /// Signalled when the state is back.
    private let isBack: Condition
    private var state: State?
    private var position: UInt64
    private var end: Result<Void, any Error>?
    private var waiters: [UInt64: (position: UInt64, continuation: CheckedContinuation<Void, any Error>)] = [:]
    private var tickets: UInt64 = 0
    private var cancelled: Set<UInt64> = []
    private var failure: JournalError?

    init(_ state: State, at position: UInt64) {
        self.state = state
        self.position = position
        isBack = Condition(lock: lock)
    }

    /// The state and its position; waits while the reader applies a portion of events.
    var current: (state: State, position: UInt64) {
        lock.withLock {
            while true {
                if let state { return (state, position) }
                isBack.wait()
            }
        }
    }

    var reached: UInt64 { lock.withLock { position } }

    var saveFailure: JournalError? {
        get { lock.withLock { failure } }
        set { lock.withLock { failure = newValue } }
    }

    /// Lets `body` change the state, without holding the lock; only the reader calls this.
    func change(to position: UInt64, _ body: (inout State) -> Void) {
        // The state is there: only this method takes it out, and puts it back each time.
        guard var state = lock.withLock({ exchange(nil) }) else { return }
        body(&state)
        let reached = lock.withLock {
            exchange(state)
            self.position = position
            isBack.broadcast()
            let reached = waiters.filter { $0.value.position <= position }
            for ticket in reached.keys { waiters[ticket] = nil }
            return reached
        }
        for waiter in reached.values { waiter.continuation.resume() }
    }

    @discardableResult
    private func exchange(_ other: State?) -> State? {
        defer { state = other }
        return state
    }

    /// Called when the state changes no more.
    func ended(_ result: Result<Void, any Error>) {
        let waiting = lock.withLock {
            end = result
            defer { waiters = [:] }
            return waiters
        }
        for waiter in waiting.values { waiter.continuation.resume(with: missed(result)) }
    }

    /// What a caller gets if the projection ends before it reaches the caller's position.
    private func missed(_ end: Result<Void, any Error>) -> Result<Void, any Error> {
        end.flatMap { .failure(JournalError(.closed, "the projection has ended before the position was reached")) }
    }

    /// Returns when the state has every event up to a position.
    func reach(_ position: UInt64) async throws {
        let ticket = lock.withLock {
            tickets += 1
            return tickets
        }
        defer { lock.withLock { _ = cancelled.remove(ticket) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = lock.withLock {
                    if self.position >= position { return .success(()) }
                    if let end { return missed(end) }
                    if cancelled.contains(ticket) { return .failure(CancellationError()) }
                    waiters[ticket] = (position, continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            Simulation.undivided {
                let waiter = lock.withLock {
                    cancelled.insert(ticket)
                    return waiters.removeValue(forKey: ticket)
                }
                waiter?.continuation.resume(throwing: CancellationError())
            }
        }
    }
}
