import BridgeProtocol
import CBOR
import DomainEvents
import Locks

/// The events of this process whose publishers wait for receipts of other processes.
final class PendingReceipts: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var ledgers: [EventID: ReceiptLedger] = [:]

    /// This bridge, as ledgers know it.
    private var bridge: ObjectIdentifier { ObjectIdentifier(self) }

    /// A process of this bridge, as ledgers know it.
    func process(_ name: String) -> AwaitedProcess { AwaitedProcess(name, of: bridge) }

    func add(_ ledger: ReceiptLedger) {
        lock.withLock { ledgers[ledger.id] = ledger }
        ledger.whenClosed { [weak self] in self?.remove(ledger.id) }
    }

    private func remove(_ id: EventID) {
        let removed = lock.withLock { ledgers.removeValue(forKey: id) }
        withExtendedLifetime(removed) {}
    }

    /// Takes a receipt that a process has sent, or that this process gives in that process's name; returns whether a
    /// publisher here waits for it.
    ///
    /// - Parameter whenDecided: as in ``ReceiptLedger/receive(_:whenDecided:)``; not called if no publisher waits.
    func receive(_ receipt: Receipt, of id: EventID, whenDecided: ReceiptLedger.WhenDecided? = nil) -> Bool {
        guard let ledger = lock.withLock({ ledgers[id] }) else { return false }
        ledger.receive(ProcessReceipt(receipt, from: process(receipt.process), of: ledger), whenDecided: whenDecided)
        return true
    }

    /// Fails all waits for processes of this bridge, because their receipts will not come any more.
    func failAll(_ code: DeliveryError.Code, because reason: String) {
        for ledger in lock.withLock({ ledgers.values.sorted { $0.id.number < $1.id.number } }) {
            let sentence = "\(ledger.name) may not have been handled: \(reason)"
            ledger.bridgeEnded(bridge, DeliveryError(code, of: ledger.name, id: ledger.id, sentence))
        }
    }
}

extension ProcessReceipt {
    /// - Parameters:
    ///   - sender: the process that has sent the receipt.
    ///   - ledger: the ledger of the event that the sentences name.
    fileprivate init(_ receipt: Receipt, from sender: AwaitedProcess, of ledger: ReceiptLedger) {
        let (process, event) = (sender.name, ledger.name)
        // A text that begins with the event's name is a whole sentence.
        func named(_ outcome: String) -> String {
            receipt.text.hasPrefix(event) ? receipt.text : "\(event) \(outcome): \(receipt.text)"
        }
        let failure: (code: DeliveryError.Code, sentence: String)? =
            switch Receipt.Outcome(rawValue: receipt.outcome) {
            case .handled: nil
            case .refused: (.refused, "\(process) refused \(event): \(receipt.text)")
            case .unavailable: (.workerUnavailable, named("may not have been handled"))
            case .deadLettered: (.deadLettered, "\(event) was given up at \(process): \(receipt.text)")
            case .dropped: (.outboxFull, named("was dropped"))
            case nil: (.refused, "\(process) did not handle \(event): \(receipt.text)")
            }
        self.init(
            process: sender,
            handlers: receipt.handlers.clamped(to: 0...Int(UInt32.max)),
            failure: failure.map {
                DeliveryError(
                    $0.code,
                    of: ledger.name,
                    id: ledger.id,
                    at: process,
                    $0.sentence,
                    field: $0.code == .refused ? CBORError.field(named: receipt.text) : nil
                )
            },
            isRefusal: failure?.code == .refused,
            passedOnTo: receipt.passedOnTo
        )
    }
}
