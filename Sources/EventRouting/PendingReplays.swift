import BridgeProtocol
import DomainEvents
import Locks

/// The replayed events of this process whose outcome at a worker is not known yet.
///
/// A live publisher may wait for receipts of the same event at the same worker. The first receipt then counts for both,
/// so at worst a replay goes on a moment early.
final class PendingReplays: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    private struct Place: Hashable {
        let worker: String
        let event: EventID
    }

    private struct Wait {
        let number: UInt64
        let body: Body
    }

    /// Takes what became of an event, and returns whether an operator hears of it.
    typealias Body = @Sendable (ReplayedEventOutcome) -> Bool

    private let lock = Lock()
    private var waiting: [Place: [Wait]] = [:]
    private var lastNumber: UInt64 = 0
    private var hasEnded = false

    /// Calls `body` once, with what became of the event at the worker, unless the wait is removed before.
    ///
    /// - Parameter body: called under no lock, on the thread that learns of the outcome; must be short.
    /// - Returns: The number of the wait, for ``remove(_:of:at:)``; nil after ``end(because:)``.
    func add(_ event: EventID, at worker: String, _ body: @escaping Body) -> UInt64? {
        lock.withLock {
            if hasEnded { return nil }
            lastNumber += 1
            waiting[Place(worker: worker, event: event), default: []].append(Wait(number: lastNumber, body: body))
            return lastNumber
        }
    }

    /// Ends a wait without a call of its body: the worker has not taken the event.
    func remove(_ number: UInt64, of event: EventID, at worker: String) {
        let place = Place(worker: worker, event: event)
        let removed = lock.withLock {
            let removed = waiting[place]
            waiting[place]?.removeAll { $0.number == number }
            if waiting[place]?.isEmpty == true { waiting[place] = nil }
            return removed
        }
        // What a body holds is released without the lock.
        withExtendedLifetime(removed) {}
    }

    /// Takes the receipt for an event, if a replay waits for it.
    func receive(_ receipt: Receipt, of event: EventID) {
        let outcome: ReplayedEventOutcome =
            switch Receipt.Outcome(rawValue: receipt.outcome) {
            case .handled: .handled
            case .unavailable: .unavailable(receipt.text)
            case .refused, .deadLettered, .dropped, nil: .refused(receipt.text)
            }
        settled(event, at: receipt.process, outcome)
    }

    /// Takes the outcome of an event at a worker.
    ///
    /// - Returns: Whether an operator who waits for the replay hears of it.
    @discardableResult
    func settled(_ event: EventID, at worker: String, _ outcome: ReplayedEventOutcome) -> Bool {
        let waits = lock.withLock {
            waiting.isEmpty ? nil : waiting.removeValue(forKey: Place(worker: worker, event: event))
        }
        var isHeard = false
        for wait in waits ?? [] where wait.body(outcome) { isHeard = true }
        return isHeard
    }

    /// Ends all waits, and lets none begin, because no worker will say anything any more.
    func end(because reason: String) {
        let all = lock.withLock {
            hasEnded = true
            defer { waiting = [:] }
            return waiting.values.flatMap { $0 }
        }
        for wait in all { _ = wait.body(.unavailable(reason)) }
    }
}

/// What became of a replayed event at its worker.
package enum ReplayedEventOutcome: Sendable, Hashable {
    /// The handlers have returned, the worker has no handler for the event, or it acknowledges nothing and has got it.
    case handled
    /// The worker has refused the event, or has crashed over it too often; why, in words.
    case refused(String)
    /// The worker takes no events any more; it may still get the event when it is started again.
    case unavailable(String)
}
