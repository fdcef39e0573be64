import BridgeProtocol
import BridgeTransport
import DomainEvents

/// Events of a journal that are sent again to this peer alone.
extension Peer {
    /// Puts an event into the outbox once there is room, and writes it.
    func replay(
        _ context: EventContext,
        name: String,
        number: UInt64,
        payload: [UInt8]
    ) async throws(DeliveryError) {
        while true {
            let link = try await linkWithRoom(for: name)
            let outcome = payload.withUnsafeBytes { link.replay(context, name: name, number: number, payload: $0) }
            switch outcome {
            case .accepted: return link.pump()
            // Other events have filled the room since.
            case .crowded: continue
            case .ended where isRenewed: renew(after: link)
            // The event alone is larger than what is left below the hard limit.
            case .full: await whenQuiet(link)
            default: throw refusal(of: name, outcome)
            }
        }
    }

    /// Waits for the caller's turn to put an event of this name into the outbox.
    private func linkWithRoom(for name: String) async throws(DeliveryError) -> Link {
        let link = self.link
        do {
            try await link.waitForRoom {
                // If the peer was closed just now, nothing else wakes this waiting caller.
                if self.closedReason != nil { link.wakeWaiters() }
            }
        } catch {
            throw unavailable(name, "the replay was ended")
        }
        if hasLeft(name) { throw leaving(name) }
        if let reason = closedReason { throw unavailable(name, reason) }
        return link
    }

    private func whenQuiet(_ link: Link) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            link.whenQuiet { continuation.resume() }
        }
    }
}
