import Locks
import Synchronization

/// The events that were published inside a transaction and wait for its end.
final class Transaction: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let publisher: EventPublisher
    /// The transaction of another publisher around this transaction; nil if there is none.
    private let outer: Transaction?
    private let lock = Lock()
    private var held: [() -> Void] = []
    private var isOpen = true
    /// How many further events were held while the transaction publishes its events; they come from tasks that outlived
    /// the transaction's body.
    private var late: Int?

    private static let lateLimit = 1_024

    /// The transactions that the current task is in, innermost first.
    @TaskLocal static var current: Transaction?

    init(of publisher: EventPublisher, inside outer: Transaction?) {
        self.publisher = publisher
        self.outer = outer
    }

    /// The transaction of this publisher that the current task is in.
    static func current(of publisher: EventPublisher) -> Transaction? {
        var transaction = current
        while let candidate = transaction {
            if candidate.publisher === publisher, candidate.lock.withLock({ candidate.isOpen }) { return candidate }
            transaction = candidate.outer
        }
        return nil
    }

    /// Keeps a closure that publishes an event; returns false if the transaction has ended or has no room left for it.
    func hold(_ publish: @escaping () -> Void) -> Bool {
        lock.withLock {
            guard isOpen, late ?? 0 < Self.lateLimit else { return false }
            late = late.map { $0 + 1 }
            held.append(publish)
            return true
        }
    }

    /// Ends the transaction: tasks that outlive it publish directly from now on.
    ///
    /// - Returns: The held closures; nil if the transaction had ended before.
    func end() -> [() -> Void]? {
        lock.withLock {
            guard isOpen else { return nil }
            isOpen = false
            defer { held = [] }
            return held
        }
    }

    /// Takes what is held, for the caller to publish; if nothing is held, ends the transaction and returns nil.
    ///
    /// Until nothing is held, the transaction also holds events of tasks that outlived its body: otherwise the next
    /// event of such a task would overtake its earlier events. ``lateLimit`` bounds them, because a task may publish
    /// faster than the caller.
    func takeHeld() -> [() -> Void]? {
        lock.withLock {
            late = late ?? 0
            if held.isEmpty { isOpen = false }
            defer { held = [] }
            return held.isEmpty ? nil : held
        }
    }
}

extension EventPublisher {
    /// Holds the events published to this publisher inside `body` until it has returned; drops them if `body` throws.
    ///
    /// With a transaction, events are published only after the change is saved:
    ///
    /// ```swift
    /// try publisher.transaction {
    ///     warehouse.remove(box)                 // publishes BoxRemoved
    ///     try context.save()                    // throws: no subscriber ever hears of it
    /// }
    /// ```
    ///
    /// The events keep their order, and the identities and causes that they had when they were published. The
    /// transaction covers the task (or, outside tasks, the thread) that runs `body`, and its child tasks. A transaction
    /// inside another transaction of the same publisher joins it: its events are held until the outer transaction ends.
    /// If the inner transaction throws and the outer goes on, the events of the inner are still held; to undo a part,
    /// use a transaction for that part alone.
    ///
    /// Inside a transaction ``send(_:)-(E)`` takes the event and does not wait for room.
    /// ``deliver(_:within:clock:)-(E,_,_)`` and ``request(_:awaiting:within:clock:where:)`` throw, as they would wait
    /// for a held event.
    public func transaction<R>(_ body: () throws -> R) rethrows -> R {
        if Transaction.current(of: self) != nil { return try body() }
        let transaction = beginTransaction()
        defer { endTransaction(transaction, keeping: false) }
        let result = try Transaction.$current.withValue(transaction, operation: body)
        endTransaction(transaction, keeping: true)
        return result
    }

    /// Holds the events published to this publisher inside `body` until it has returned; drops them if `body` throws or
    /// the task was cancelled meanwhile.
    ///
    /// - Throws: What `body` throws; `CancellationError` if the task was cancelled before `body` returned. Either way
    ///   the events were dropped.
    public func transaction<R>(_ body: () async throws -> R) async throws -> R {
        if Transaction.current(of: self) != nil { return try await body() }
        let transaction = beginTransaction()
        defer { endTransaction(transaction, keeping: false) }
        let result = try await Transaction.$current.withValue(transaction, operation: body)
        try Task.checkCancellation()
        endTransaction(transaction, keeping: true)
        return result
    }

    private func beginTransaction() -> Transaction {
        openTransactions.wrappingAdd(1, ordering: .relaxed)
        return Transaction(of: self, inside: Transaction.current)
    }

    /// Publishes what was held, or drops it.
    ///
    /// A second call does nothing.
    private func endTransaction(_ transaction: Transaction, keeping isKept: Bool) {
        if isKept {
            while let held = transaction.takeHeld() { for publish in held { publish() } }
        } else if transaction.end() == nil {
            return
        }
        openTransactions.wrappingSubtract(1, ordering: .relaxed)
    }
}
