import Locks

/// What one process says of an event that a caller waits for.
package struct ProcessReceipt: Sendable {
    package let process: String
    /// How many handlers of it have returned there.
    package let handlers: Int
    /// Why it was not handled there; nil if it was, or if no subscriber there wanted it.
    package let failure: (any Error)?
    /// The processes that it was passed on to, which have something to say of it themselves.
    package let passedOnTo: [String]

    package init(process: String, handlers: Int, failure: (any Error)? = nil, passedOnTo: [String] = []) {
        self.process = process
        self.handlers = handlers
        self.failure = failure
        self.passedOnTo = passedOnTo
    }
}

/// Gathers what all processes say of one event, until every one that got it has said something.
@usableFromInline
package final class ReceiptLedger: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// The event's name.
    package let name: String

    /// The event.
    package let id: EventID

    private let lock = Lock()
    private var awaited: Set<String> = []
    private var received: [String: Int] = [:]
    private var firstFailure: (any Error)?
    private var forget: [@Sendable () -> Void] = []
    /// The caller's; nil once it waits no longer, so that a handler that never returns keeps nothing of its caller.
    private var waiter: Waiter?

    private struct Waiter: Sendable {
        let onFailure: @Sendable (any Error) -> Void
        let onCompletion: @Sendable (_ handlers: [String: Int], _ firstFailure: (any Error)?) -> Void
    }

    /// - Parameters:
    ///   - onFailure: called with each failure, as soon as it is known.
    ///   - onCompletion: called once, when no process is awaited any more, with how many handlers the event had in each
    ///     process, and the first failure.
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

    /// The event goes to this process, which will say something of it.
    package func expect(_ process: String) {
        lock.withLock { if received[process] == nil { _ = awaited.insert(process) } }
    }

    /// A process has said what became of the event there; the first word of each counts.
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

    /// No process will say anything any more.
    package func fail(_ error: any Error) {
        let waiter = lock.withLock {
            defer { awaited = [] }
            return awaited.isEmpty ? nil : self.waiter
        }
        waiter?.onFailure(error)
        waiter?.onCompletion([:], error)
    }

    /// Whom the event still waits for, in order.
    var unheard: [String] { lock.withLock { awaited.sorted() } }

    /// The processes that have handled the event, in order.
    var handled: [String] { lock.withLock { received.filter { $0.value > 0 } }.keys.sorted() }

    /// Calls `body` when the caller no longer waits.
    package func whenClosed(_ body: @escaping @Sendable () -> Void) {
        let isClosed = lock.withLock {
            if waiter != nil { forget.append(body) }
            return waiter == nil
        }
        if isClosed { body() }
    }

    /// The caller no longer waits.
    func close() {
        let (forget, waiter) = lock.withLock {
            defer { (self.forget, self.waiter) = ([], nil) }
            return (self.forget, self.waiter)
        }
        for body in forget { body() }
        // May hold the last reference to what its caller has: let go of without the lock.
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
