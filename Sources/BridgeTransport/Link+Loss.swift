import BridgeProtocol
import Locks

/// What is known of the events that a peer had accepted and that never came.
extension Link {
    package struct Loss: Sendable, Hashable {
        /// How many of the peer's events had come: as sequences count from 1, also the newest of them.
        package let arrived: UInt64
        /// How many are gone; nil if nobody can know, and there may have been none.
        package let count: UInt64?
        /// In words.
        package let reason: String

        package init(arrived: UInt64, count: UInt64?, reason: String) {
            self.arrived = arrived
            self.count = count
            self.reason = reason
        }
    }

    /// Nil if nothing is gone, as far as this side can tell, and before the link's end.
    package var loss: Loss? {
        lock.withLock {
            guard let end = ending.end else { return nil }
            let arrived = receiving.lastReceived + UInt64(found?.events ?? 0)
            if let found {
                return found.damage.map { damage in
                    let count = found.isMissingKnown ? found.missing : nil
                    return Loss(arrived: arrived, count: count, reason: "its outbox is damaged: \(damage)")
                }
            }
            // Before the handshake a peer accepts nothing.
            // What a lines worker has published it has written: it keeps nothing.
            guard parties.peer != nil, !isInLines || end.isViolation, let reason = end.reasonToExpectLoss else {
                return nil
            }
            return Loss(arrived: arrived, count: nil, reason: reason)
        }
    }
}

extension LinkEnd {
    /// Why a peer that left no memory may have had events that it had not sent; nil if it had none.
    fileprivate var reasonToExpectLoss: String? {
        switch self {
        case .orderly(let goodbye):
            // Said behind the last event, unless it broke off.
            switch Goodbye.Reason(rawValue: goodbye.reason) {
            case .shutdown, .replaced, .idle: nil
            default: "it broke off (\(goodbye.text)), and shared no outbox"
            }
        case .endOfStream, .failed: "it ended without a goodbye, and shared no outbox"
        case .violation: "it broke the protocol, and what it had not sent was not read"
        // Nobody is left to be told.
        case .closed: nil
        }
    }
}
