import Locks

/// What one process reports about an event for which a caller waits.
package struct ProcessReceipt: Sendable {
    package let process: String
    /// How many handlers of the event have returned there.
    package let handlers: Int
    /// Why the process did not handle the event; nil if it did, or if it has no subscriber for the event.
    package let failure: (any Error)?
    /// The processes that the event was passed on to; each sends its own receipt.
    package let passedOnTo: [String]

    package init(process: String, handlers: Int, failure: (any Error)? = nil, passedOnTo: [String] = []) {
        self.process = process
        self.handlers = handlers
        self.failure = failure
        self.passedOnTo = passedOnTo
    }
}

/// Gathers the receipts of one event until every process that got it has sent one.
@usableFromInline
package final class ReceiptLedger: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    package let name: String

    package let id: EventID

    private let lock = Lock()
    private var awaited: Set<String> = []
    private var received: [String: Int] = [:]
    private var firstFailure: (any Error)?
    private var forget: [@Sendable () -> Void] = []
    /// The caller's closures; nil once the caller waits no longer, so that a handler that never returns keeps nothing
    /// of the caller alive.
    private var waiter: Waiter?

    private struct Waiter: Sendable {
        let onFailure: @Sendable (any Error) -> Void
        let onCompletion: @Sendable (_ handlers: [String: Int], _ firstFailure: (any Error)?) -> Void
    }

    /// - Parameters:
    ///   - onFailure: called with each failure, as soon as the ledger knows it.
    ///   - onCompletion: called when the ledger waits for no process any more, with the number of handlers in each
    ///     process and the first failure; after `fail(_:)`, late receipts may cause further calls.
    init(
        of name: String,
        id: EventID,
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in },
        onCompletion: @escaping @Sendable (_ handlers: [String: Int], _ firstFailure: (any Error)?) -> Void
    ) {
        self.name = name
        self.id = id
        waiter = Waiter(onFailure: onFailure, onCompletion: onCompletion)
    }

    /// Notes that the event goes to this process, which will send a receipt.
    package func expect(_ process: String) {
        lock.withLock { if received[process] == nil { _ = awaited.insert(process) } }
    }

    /// Notes the receipt of a process; the first receipt of each process counts.
    package func receive(_ receipt: ProcessReceipt) {
        let (told, completion): (Waiter?, ([String: Int], (any Error)?)?) = lock.withLock {
            guard waiter != nil, received.updateValue(receipt.handlers, forKey: receipt.process) == nil else {
                return (waiter, nil)
            }
            if firstFailure == nil { firstFailure = receipt.failure }
            awaited.remove(receipt.process)
            for process in receipt.passedOnTo where received[process] == nil { awaited.insert(process) }
            return (waiter, awaited.isEmpty ? (received, firstFailure) : nil)
        }
        if let failure = receipt.failure { told?.onFailure(failure) }
        if let (handlers, failure) = completion { told?.onCompletion(handlers.filter { $0.value > 0 }, failure) }
    }

    /// Ends the wait with an error, because no process will send a receipt any more.
    package func fail(_ error: any Error) {
        let waiter = lock.withLock {
            defer { awaited = [] }
            return awaited.isEmpty ? nil : self.waiter
        }
        waiter?.onFailure(error)
        waiter?.onCompletion([:], error)
    }

    /// The processes whose receipts are missing, sorted by name.
    var unheard: [String] { lock.withLock { awaited.sorted() } }

    /// The processes that have handled the event, sorted by name.
    var handled: [String] { lock.withLock { received.filter { $0.value > 0 } }.keys.sorted() }

    /// Calls `body` when the caller stops waiting; at once if the caller has stopped already.
    package func whenClosed(_ body: @escaping @Sendable () -> Void) {
        let isClosed = lock.withLock {
            if waiter != nil { forget.append(body) }
            return waiter == nil
        }
        if isClosed { body() }
    }

    /// Called when the caller stops waiting.
    func close() {
        let (forget, waiter) = lock.withLock {
            defer { (self.forget, self.waiter) = ([], nil) }
            return (self.forget, self.waiter)
        }
        for body in forget { body() }
        // The closures may hold the last reference to an object of the caller, so they are released without the lock.
        withExtendedLifetime(waiter) {}
    }
}

/// Notes in a ledger that the handlers of this process have returned.
package final class LedgerCompletion: HandlingCompletion {
    private let ledger: ReceiptLedger
    private let process: String
    private let handlers: Int

    package init(ledger: ReceiptLedger, process: String, handlers: Int) {
        self.ledger = ledger
        self.process = process
        self.handlers = handlers
    }

    package func handlersReturned(failure: ThrownError?) {
        ledger.receive(ProcessReceipt(process: process, handlers: handlers, failure: failure?.error))
    }
}
