import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// The end of a peer's event here: its handlers have returned, it lies in the outboxes of all peers that want it, and
/// these peers have room again.
///
/// Until then the event stays unacknowledged and fills its sender's window, even if it was refused, which the sender
/// hears at once. This slows a process that publishes faster than another can take, and no other process.
final class Settlement: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.

    /// What the receipt for the sender says of the event.
    struct Receipt {
        let id: EventID
        let process: String
        /// The processes that the event was passed on to.
        let passedOnTo: [String]
        let losses: [Topic.Loss]
    }

    private let link: Link
    private let sequence: UInt64
    private let receipt: Receipt?

    private let lock = Lock()
    private var openParts: Int
    private var wasUnwanted = false
    private var wasRefused = false

    /// - Parameters:
    ///   - origin: the peer that offered the event over `link`.
    ///   - crowded: the peers that must have room again, and whose own events must get through.
    ///   - backlogs: the waits for crowded peers, and for the events that these publish.
    init(
        link: Link,
        from origin: Peer,
        sequence: UInt64,
        receipt: Receipt?,
        crowded: [Peer],
        backlogs: BacklogWaits
    ) {
        self.link = link
        self.sequence = sequence
        self.receipt = receipt
        openParts = crowded.count + 1
        for peer in crowded { backlogs.waitForRoom(origin, at: peer) { self.finishPart() } }
    }

    /// The completion for handlers that have not returned yet.
    ///
    /// - Parameter refused: called with the error if a handler throws.
    func completion(handlers: Int, refused: (@Sendable (ThrownError) -> Void)?) -> any HandlingCompletion {
        Completion(settlement: self, handlers: handlers, refused: refused)
    }

    func handled(handlers: Int, isUnwanted: Bool = false) {
        if handlers == 0, isUnwanted { lock.withLock { wasUnwanted = true } }
        if let receipt {
            link.sendReceipt(
                of: receipt.id,
                process: receipt.process,
                handlers: handlers,
                passedOnTo: receipt.passedOnTo
            )
            tellLosses(receipt)
        }
        finishPart()
    }

    func refused(_ reason: Refusal.Reason, text: String) {
        // The sender must learn of the refusal while a publisher in its process still waits for the receipt. So only
        // the event's place in the window waits for room at other peers.
        let isSettled = link.queueRefusal(of: sequence, reason, text: text)
        lock.withLock { wasRefused = true }
        // A link that is broken off is told nothing more.
        if isSettled { finishPart() }
        guard let receipt else { return link.pump() }
        link.sendReceipt(
            of: receipt.id,
            process: receipt.process,
            outcome: .refused,
            text: text,
            passedOnTo: receipt.passedOnTo
        )
        tellLosses(receipt)
    }

    private func tellLosses(_ receipt: Receipt) {
        for loss in receipt.losses {
            link.sendReceipt(
                of: receipt.id,
                process: loss.peerName,
                outcome: loss.error.code == .outboxFull ? .dropped : .unavailable,
                text: loss.error.description
            )
        }
    }

    private func finishPart() {
        let (isDone, wasRefused, wasUnwanted) = lock.withLock {
            openParts -= 1
            return (openParts == 0, self.wasRefused, self.wasUnwanted)
        }
        guard isDone else { return }
        if wasRefused {
            link.refusedEventLeft(sequence)
        } else {
            link.eventHandled(sequence, wasUnwanted: wasUnwanted)
        }
    }

    private final class Completion: HandlingCompletion {
        private let settlement: Settlement
        private let handlers: Int
        private let refused: (@Sendable (ThrownError) -> Void)?

        init(settlement: Settlement, handlers: Int, refused: (@Sendable (ThrownError) -> Void)?) {
            self.settlement = settlement
            self.handlers = handlers
            self.refused = refused
        }

        func handlersReturned(failure: ThrownError?) {
            if let failure {
                refused?(failure)
                settlement.refused(.handlerFailed, text: failure.description)
            } else {
                settlement.handled(handlers: handlers)
            }
        }
    }
}
