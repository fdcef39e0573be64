import Locks

/// Counts the signals that ask for an end, from 1; a command that asks for an end counts only if it comes first.
package final class StopRequests: @unchecked Sendable {
    // Sendable: guarded by `lock`.

    /// The signals that ask for an end: from a service manager, the keyboard, and a terminal that goes away.
    ///
    /// For `supervisor run`, which is a service, the hang-up signal means to read the configuration again.
    package static let signals = [OperatingSystem.terminate, OperatingSystem.interrupt, OperatingSystem.hangUp]

    /// For how many nanoseconds after a request a signal still belongs to that request.
    ///
    /// Programs such as `timeout` send the signal to the process and, right after that, to its group.
    package static let distance: UInt64 = 100_000_000

    private let lock = Lock()
    private var count = 0
    private var last: UInt64 = 0

    package init() {}

    /// Counts a request at this time, in nanoseconds, and returns its number; nil if it belongs to the request before.
    package func next(at now: UInt64) -> Int? {
        lock.withLock {
            if count > 0, now < last + Self.distance { return nil }
            last = now
            count += 1
            return count
        }
    }

    /// Counts a request at this time, in nanoseconds, if it is the first; returns whether it is the first.
    package func isFirst(at now: UInt64) -> Bool {
        lock.withLock {
            guard count == 0 else { return false }
            (last, count) = (now, 1)
            return true
        }
    }
}
