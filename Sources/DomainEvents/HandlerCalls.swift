import Synchronization

/// The calls of one asynchronous handler, one after the other: says whether a certain call has returned.
///
/// Tasks that a call has started ask this, on any thread and however late. One object serves all calls of a handler, so
/// a call costs no allocation. It is not the subscriber, so a task that keeps it keeps nothing that the handler has
/// captured.
final class HandlerCalls: Sendable {
    /// Counts each call when it begins and again when it has returned, so the number is odd while a call is under way.
    private let changes = Atomic<UInt64>(0)

    /// Notes that the next call begins.
    ///
    /// - Returns: The call's number.
    func begin() -> UInt64 {
        // No other thread writes now, because the call before has returned.
        let number = changes.load(ordering: .relaxed) &+ 1
        changes.store(number, ordering: .relaxed)
        return number
    }

    /// Notes that the call with this number has returned.
    func end(_ number: UInt64) {
        // Relaxed: a task that sees this a moment late takes the call to be under way, as it was just before.
        changes.store(number &+ 1, ordering: .relaxed)
    }

    /// Whether the call with this number has not returned.
    func isUnderWay(_ number: UInt64) -> Bool { changes.load(ordering: .relaxed) == number }
}
