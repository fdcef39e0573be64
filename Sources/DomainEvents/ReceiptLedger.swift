import Locks

/// A process that a caller waits for.
package struct AwaitedProcess: Hashable, Sendable {
    package let name: String
    /// The bridge that reaches the process, as two bridges of a publisher may have processes of the same name; nil for
    /// this process.
    package let bridge: ObjectIdentifier?

    package init(_ name: String, of bridge: ObjectIdentifier?) {
        (self.name, self.bridge) = (name, bridge)
    }
}

/// What one process reports about an event for which a caller waits.
package struct ProcessReceipt: Sendable {
    package let process: AwaitedProcess
    /// How many handlers of the event have returned there.
    package let handlers: Int
    /// Why the process did not handle the event; nil if it did, or if it has no subscriber for the event.
    package let failure: (any Error)?
    /// The processes of the same bridge that the event was passed on to; each sends its own receipt.
    package let passedOnTo: [String]

    package init(process: AwaitedProcess, handlers: Int, failure: (any Error)? = nil, passedOnTo: [String] = []) {
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

    /// This process, which has made the event.
    package var own: AwaitedProcess { AwaitedProcess(id.origin, of: nil) }

    private let lock = Lock()
    private var awaited: Set<AwaitedProcess> = []
    private var received: [AwaitedProcess: Int] = [:]
    /// Why the bridges that have ended send no receipts any more.
    private var ends: [ObjectIdentifier: any Error] = [:]
    private var firstFailure: (any Error)?
    private var forget: [@Sendable () -> Void] = []
    /// The caller's closures; nil once the caller waits no longer, so that a handler that never returns keeps nothing
    /// of the caller alive.
    private var waiter: Waiter?

    private struct Waiter: Sendable {
        let onFailure: @Sendable (any Error) -> Void
        let onCompletion: @Sendable (_ handlers: [String: Int], _ firstFailure: (any Error)?) -> Void

        func fail(_ error: any Error) {
            onFailure(error)
            onCompletion([:], error)
        }
    }

    /// - Parameters:
    ///   - onFailure: called with each failure, as soon as the ledger knows it.
    ///   - onCompletion: called when the ledger waits for no process any more, with the number of handlers in the
    ///     processes of each name and the first failure; after the end of a bridge, late receipts may cause further
    ///     calls.
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

    /// Notes that the event goes to this process, which will send a receipt, unless its bridge has ended.
    package func expect(_ process: AwaitedProcess) {
        let (waiter, end) = lock.withLock {
            if received[process] == nil { awaited.insert(process) }
            return (self.waiter, process.bridge.flatMap { ends[$0] })
        }
        if let end { waiter?.fail(end) }
    }

    /// Notes the receipt of a process; the first receipt of each process counts.
    package func receive(_ receipt: ProcessReceipt) {
        let (told, completion): (Waiter?, ([AwaitedProcess: Int], (any Error)?)?) = lock.withLock {
            guard waiter != nil, received.updateValue(receipt.handlers, forKey: receipt.process) == nil else {
                return (waiter, nil)
            }
            if firstFailure == nil { firstFailure = receipt.failure }
            awaited.remove(receipt.process)
            for name in receipt.passedOnTo {
                let process = AwaitedProcess(name, of: receipt.process.bridge)
                if received[process] == nil { awaited.insert(process) }
            }
            return (waiter, awaited.isEmpty ? (received, firstFailure) : nil)
        }
        if let failure = receipt.failure { told?.onFailure(failure) }
        guard let (received, failure) = completion else { return }
        let handlers = received.filter { $0.value > 0 }.map { ($0.key.name, $0.value) }
        told?.onCompletion(Dictionary(handlers, uniquingKeysWith: +), failure)
    }

    /// Ends the wait with an error if a receipt of this bridge is missing, because the bridge has ended.
    package func bridgeEnded(_ bridge: ObjectIdentifier, _ error: any Error) {
        let waiter = lock.withLock {
            ends[bridge] = error
            return awaited.contains { $0.bridge == bridge } ? self.waiter : nil
        }
        waiter?.fail(error)
    }

    /// The names of the other processes whose receipts are missing, sorted.
    var unheard: [String] { lock.withLock { Self.others(among: awaited) } }

    /// The names of the other processes that have handled the event, sorted.
    var handled: [String] { lock.withLock { Self.others(among: received.filter { $0.value > 0 }.keys) } }

    private static func others(among processes: some Sequence<AwaitedProcess>) -> [String] {
        Set(processes.filter { $0.bridge != nil }.map(\.name)).sorted()
    }

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
    private let handlers: Int

    package init(ledger: ReceiptLedger, handlers: Int) {
        self.ledger = ledger
        self.handlers = handlers
    }

    package func handlersReturned(failure: ThrownError?) {
        ledger.receive(ProcessReceipt(process: ledger.own, handlers: handlers, failure: failure?.error))
    }
}
