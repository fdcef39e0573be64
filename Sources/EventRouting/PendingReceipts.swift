import BridgeProtocol
import DomainEvents
import Locks

/// The events of this process whose publishers wait to hear what became of them elsewhere.
final class PendingReceipts: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var ledgers: [EventID: ReceiptLedger] = [:]

    func add(_ ledger: ReceiptLedger) {
        lock.withLock { ledgers[ledger.id] = ledger }
        ledger.whenClosed { [weak self] in self?.remove(ledger.id) }
    }

    private func remove(_ id: EventID) {
        let removed = lock.withLock { ledgers.removeValue(forKey: id) }
        withExtendedLifetime(removed) {}
    }

    /// - Returns: Whether somebody here waits for it.
    func receive(_ receipt: ProcessReceipt, of id: EventID) -> Bool {
        guard let ledger = lock.withLock({ ledgers[id] }) else { return false }
        ledger.receive(receipt)
        return true
    }

    /// Nothing is heard of any event any more.
    func failAll(_ error: DeliveryError) {
        for ledger in lock.withLock({ ledgers.values.sorted { $0.id.number < $1.id.number } }) { ledger.fail(error) }
    }
}

extension ProcessReceipt {
    init(_ receipt: Receipt) {
        var failure: DeliveryError?
        switch Receipt.Outcome(rawValue: receipt.outcome) {
        case .handled: break
        case .refused:
            failure = DeliveryError(.refused, "\(receipt.process) refused the event: \(receipt.text)")
        case .unavailable: failure = DeliveryError(.workerUnavailable, receipt.text)
        case .deadLettered:
            failure = DeliveryError(.deadLettered, "the event was given up at \(receipt.process): \(receipt.text)")
        case .dropped: failure = DeliveryError(.outboxFull, receipt.text)
        case nil: failure = DeliveryError(.refused, "\(receipt.process) did not handle the event: \(receipt.text)")
        }
        self.init(
            process: receipt.process,
            handlers: receipt.handlers.clamped(to: 0...Int(UInt32.max)),
            failure: failure,
            passedOnTo: receipt.passedOnTo
        )
    }
}
