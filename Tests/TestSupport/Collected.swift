import Locks

/// Collects values from any thread and lets a test wait for them; the test's time limit ends what never comes.
package final class Collected<Value: Sendable>: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var values: [Value] = []
    private var waiters: [(isMet: ([Value]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    package init() {}

    package var all: [Value] { lock.withLock { values } }

    package var count: Int { lock.withLock { values.count } }

    package func add(_ value: Value) {
        let ready = lock.withLock {
            values.append(value)
            // Each is asked once: what it looks at beside the values may change meanwhile, and it would be taken out and not told.
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

    /// Waits until the values are as wanted.
    @discardableResult
    package func wait(until isMet: @escaping @Sendable ([Value]) -> Bool) async -> [Value] {
        await withCheckedContinuation { continuation in
            let isReady = lock.withLock {
                if isMet(values) { return true }
                waiters.append((isMet, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
        return all
    }

    /// Waits until there are so many values.
    @discardableResult
    package func wait(for count: Int) async -> [Value] { await wait { $0.count >= count } }
}
