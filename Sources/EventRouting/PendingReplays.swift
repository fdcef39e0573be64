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
        /// Whether the worker's outbox has the event; until then, an outcome may be that of a live delivery.
        var isTaken = false
        /// The first outcome that came before it was clear whether the outbox takes the event.
        var early: ReplayedEventOutcome?
    }

    /// Takes what became of an event, and returns whether an operator hears of it.
    typealias Body = @Sendable (ReplayedEventOutcome) -> Bool

    private let lock = Lock()
    private var waiting: [Place: [Wait]] = [:]
    private var lastNumber: UInt64 = 0
    private var hasEnded = false

    /// Notes that the outbox of a worker is about to be offered an event; the caller then says by
    /// ``decided(_:of:at:isTaken:)`` what came of it.
    ///
    /// - Parameter body: called once with what became of the event at the worker, unless ``decided(_:of:at:isTaken:)``
    ///   returns false; called under no lock, on the thread that learns of the outcome; must be short.
    /// - Returns: The number of the wait; nil after ``end(because:)``.
    func offer(_ event: EventID, at worker: String, _ body: @escaping Body) -> UInt64? {
        lock.withLock {
            if hasEnded { return nil }
            lastNumber += 1
            waiting[Place(worker: worker, event: event), default: []].append(Wait(number: lastNumber, body: body))
            return lastNumber
        }
    }

    /// Notes whether the worker's outbox has taken an offered event; if not, the wait ends.
    ///
    /// - Returns: Whether the body was or will be called. That can be so without the outbox having taken the event: an
    ///   earlier replay of the event was refused meanwhile, or all waits have ended.
    func decided(_ number: UInt64, of event: EventID, at worker: String, isTaken: Bool) -> Bool {
        let place = Place(worker: worker, event: event)
        let (isOver, removed) = lock.withLock { () -> (Bool, Wait?) in
            guard var waits = waiting[place], let index = waits.firstIndex(where: { $0.number == number }) else {
                return (true, nil)
            }
            if isTaken, waits[index].early == nil {
                waits[index].isTaken = true
                waiting[place] = waits
                return (false, nil)
            }
            let removed = waits.remove(at: index)
            waiting[place] = waits.isEmpty ? nil : waits
            return (false, removed)
        }
        if isOver { return true }
        if isTaken, let removed, let early = removed.early { _ = removed.body(early) }
        return isTaken
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
    /// If an outcome comes while the event is being offered to the outbox, the body gets it once the outbox has taken
    /// the event.
    func settled(_ event: EventID, at worker: String, _ outcome: ReplayedEventOutcome) {
        let waits = lock.withLock { () -> [Wait] in
            guard !waiting.isEmpty, var waits = waiting[Place(worker: worker, event: event)] else { return [] }
            let taken = waits.filter(\.isTaken)
            waits.removeAll(where: \.isTaken)
            for index in waits.indices where waits[index].early == nil { waits[index].early = outcome }
            waiting[Place(worker: worker, event: event)] = waits.isEmpty ? nil : waits
            return taken
        }
        for wait in waits { _ = wait.body(outcome) }
    }

    /// Ends all waits for an event at a worker with this refusal, whichever replay of the event the worker has refused.
    ///
    /// - Returns: Whether an operator who waits for the replay hears of it.
    func refused(_ event: EventID, at worker: String, because reason: String) -> Bool {
        let waits = lock.withLock {
            waiting.isEmpty ? nil : waiting.removeValue(forKey: Place(worker: worker, event: event))
        }
        var isHeard = false
        for wait in waits ?? [] where wait.body(.refused(reason)) { isHeard = true }
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
