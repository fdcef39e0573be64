import Locks

/// Gathers the receipts of one event until every process that got it has sent one, and holds failures until it is
/// decided which of them the caller gets.
@usableFromInline
package final class ReceiptLedger: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// Called once, with whether the caller gets the failure; if the caller does not, this closure reports it.
    package typealias WhenDecided = @Sendable (_ isClaimed: Bool) -> Void

    package let name: String

    package let context: EventContext

    package var id: EventID { context.id }

    /// This process, which has made the event.
    package var own: AwaitedProcess { AwaitedProcess(id.origin, of: nil) }

    private let lock: Lock
    private var state: ReceiptState
    private var forget: [@Sendable () -> Void] = []
    /// Ends the caller's wait; nil once the caller waits no longer, so that a handler that never returns keeps nothing
    /// of the caller alive.
    private var onEnd: (@Sendable (ReceiptState.Outcome) -> Void)?

    /// - Parameters:
    ///   - context: made by the publisher for this event.
    ///   - endsAtFirstFailure: whether the wait ends as soon as one process has failed, before all receipts have come.
    ///   - lock: guards the ledger; may be the lock of the caller's wait.
    ///   - onEnd: called with the wait's outcome; later receipts may cause further calls, which change nothing.
    init(
        of name: String,
        context: EventContext,
        endsAtFirstFailure: Bool = false,
        lock: Lock = Lock(),
        onEnd: @escaping @Sendable (ReceiptState.Outcome) -> Void
    ) {
        self.name = name
        self.context = context
        self.lock = lock
        state = ReceiptState(endsAtFirstFailure: endsAtFirstFailure)
        self.onEnd = onEnd
    }

    // MARK: - Other processes

    /// Notes that the event goes to a process, which will send a receipt; if its bridge has ended, the wait ends.
    package func expect(_ process: AwaitedProcess) { end(lock.withLock { state.expected(process) }) }

    /// Notes the receipt of a process, or its refusal, which counts as one; the first receipt of each process counts.
    ///
    /// - Parameter whenDecided: given for a refusal; called now, or when the caller's wait has ended.
    package func receive(_ receipt: ProcessReceipt, whenDecided: WhenDecided? = nil) {
        let (claim, outcome) = lock.withLock { state.received(receipt, whenDecided) }
        tell(claim, whenDecided)
        end(outcome)
    }

    /// Ends the wait because an outbox has not taken the event.
    ///
    /// - Parameter whenDecided: called now, or when the caller's wait has ended.
    package func lost(_ error: any Error, whenDecided: @escaping WhenDecided) {
        let (claim, outcome) = lock.withLock { state.lost(error, at: own, whenDecided) }
        tell(claim, whenDecided)
        end(outcome)
    }

    /// Ends the wait if a receipt of this bridge is missing, because the bridge has ended.
    package func bridgeEnded(_ bridge: ObjectIdentifier, _ error: any Error) {
        end(lock.withLock { state.bridgeEnded(bridge, error) })
    }

    /// The names of the other processes whose receipts are missing, sorted.
    var unheard: [String] { lock.withLock { state.unheard } }

    /// The names of the other processes that have handled the event, sorted.
    var handled: [String] { lock.withLock { state.handled } }

    // MARK: - This process

    /// Notes that handlers of this process threw; each error that the caller does not get is reported as
    /// ``HandlerFailed``.
    func handlersThrew(_ thrown: ThrownError) {
        for failure in thrown.all { handlerThrew(failure, as: failure.error) }
    }

    /// Notes that a handler of this process threw.
    ///
    /// - Parameter error: the error that the caller may get.
    package func handlerThrew(_ thrown: ThrownError, as error: any Error) {
        failedHere(error) { [name, context] isClaimed in
            if !isClaimed { thrown.report(of: name, context) }
        }
    }

    /// Notes that this process has failed to handle the event.
    ///
    /// - Parameter whenDecided: called now, or when the caller's wait has ended.
    package func failedHere(_ error: any Error, whenDecided: @escaping WhenDecided) {
        let claim = lock.withLock { state.failed(error, at: own, whenDecided) }
        tell(claim, whenDecided)
    }

    /// Notes that no handler of this process works on the event any more.
    package func handledHere(by handlers: Int) { receive(ProcessReceipt(process: own, handlers: handlers)) }

    // MARK: - The end

    /// Ends the wait because its time is over; the caller gets the first failure that is held, else this error.
    func timeIsOver(_ error: any Error) { end(lock.withLock { state.early(error) }) }

    /// The error for a wait whose time is over; it names the handlers and processes that the caller waited for.
    func notHandled(within limit: Duration, _ unfinished: UnfinishedHandlers) -> DeliveryError {
        let others = self.unheard
        let unheard = others.isEmpty ? "" : "; nothing was heard from \(others.joined(separator: ", "))"
        return DeliveryError(
            .timedOut,
            of: name,
            id: id,
            "\(name) \(id) was not handled within \(limit)\(unfinished.text)\(unheard)",
            progress: others.isEmpty ? nil : DeliveryProgress(handled: handled, unheard: others)
        )
    }

    private func end(_ outcome: ReceiptState.Outcome?) {
        guard let outcome, let onEnd = lock.withLock({ self.onEnd }) else { return }
        onEnd(outcome)
    }

    private func tell(_ claim: ReceiptState.Claim, _ whenDecided: WhenDecided?) {
        switch claim {
        case .claimed: whenDecided?(true)
        case .unclaimed: whenDecided?(false)
        case .undecided: break
        }
    }

    /// Calls `body` when the caller stops waiting; at once if the caller has stopped already.
    package func whenClosed(_ body: @escaping @Sendable () -> Void) {
        let isClosed = lock.withLock {
            if onEnd != nil { forget.append(body) }
            return onEnd == nil
        }
        if isClosed { body() }
    }

    /// Called when the caller stops waiting; reports the failures that the caller does not get.
    ///
    /// - Parameter number: the number of the failure that the caller gets; nil if the ledger does not hold it.
    func close(claiming number: Int?) {
        let (forget, onEnd, decided) = lock.withLock {
            defer { (self.forget, self.onEnd) = ([], nil) }
            return (self.forget, self.onEnd, state.ended(claiming: number))
        }
        for body in forget { body() }
        for (whenDecided, isClaimed) in decided { whenDecided(isClaimed) }
        // The closure may hold the last reference to an object of the caller, so it is released without the lock.
        withExtendedLifetime(onEnd) {}
    }
}

/// Notes in a ledger what the handlers of this process have thrown, and that they have returned.
package final class LedgerCompletion: HandlingCompletion {
    private let ledger: ReceiptLedger
    private let handlers: Int

    package init(ledger: ReceiptLedger, handlers: Int) {
        self.ledger = ledger
        self.handlers = handlers
    }

    package func handlersThrew(_ failure: ThrownError) { ledger.handlersThrew(failure) }

    package func handlersReturned(failure: ThrownError?) { ledger.handledHere(by: handlers) }
}
