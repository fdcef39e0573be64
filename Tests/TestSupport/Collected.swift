import Locks

/// Collects values from any thread and lets a test wait for them.
///
/// A wait for a value that never comes ends with the test's time limit, which cancels the test's task: the test then
/// goes on with the values that there are.
package final class Collected<Value: Sendable>: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var values: [Value] = []
    private var waiters: [Waiter] = []
    private var nextWaiter = 0

    private struct Waiter {
        let number: Int
        let isMet: ([Value]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    package init() {}

    package var all: [Value] { lock.withLock { values } }

    package var count: Int { lock.withLock { values.count } }

    package func add(_ value: Value) {
        let ready = lock.withLock {
            values.append(value)
            // Calls each `isMet` only once: its answer may change between two calls, if it depends on more than the
            // values. Then a waiter could be removed without being resumed.
            var ready: [CheckedContinuation<Void, Never>] = []
            waiters.removeAll { waiter in
                guard waiter.isMet(values) else { return false }
                ready.append(waiter.continuation)
                return true
            }
            return ready
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until `isMet` holds for the values, or the task is cancelled.
    @discardableResult
    package func wait(until isMet: @escaping @Sendable ([Value]) -> Bool) async -> [Value] {
        let number = lock.withLock {
            nextWaiter += 1
            return nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = lock.withLock {
                    if Task.isCancelled || isMet(values) { return true }
                    waiters.append(Waiter(number: number, isMet: isMet, continuation: continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let cancelled = lock.withLock {
                waiters.firstIndex { $0.number == number }.map { waiters.remove(at: $0) }
            }
            cancelled?.continuation.resume()
        }
        return all
    }

    /// Waits until there are this many values.
    @discardableResult
    package func wait(for count: Int) async -> [Value] { await wait { $0.count >= count } }
}
