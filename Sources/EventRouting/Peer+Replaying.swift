import BridgeProtocol
import BridgeTransport
import DomainEvents

/// Room for events of a journal that are sent again to this peer alone.
extension Peer {
    /// Waits for the caller's turn to put an event of this name into the outbox.
    func linkWithRoom(for name: String) async throws(DeliveryError) -> Link {
        let link = self.link
        do {
            try await link.waitForRoom { waitBegan(for: name, on: link) }
        } catch {
            throw unavailable(name, "the replay was ended")
        }
        if hasLeft(name) { throw leaving(name) }
        if let reason = closedReason { throw unavailable(name, reason) }
        return link
    }

    /// Waits until another attempt is of use, after a link that seemed to have room has not taken an event.
    ///
    /// - Parameter bytes: the size of the event's payload.
    /// - Throws: The refusal, if no attempt is of use.
    func awaitRoomAgain(
        for name: String,
        of bytes: Int,
        on link: Link,
        after outcome: Enqueued
    ) async throws(DeliveryError) {
        switch outcome {
        // Other events have filled the room since.
        case .crowded: return
        case .ended where isRenewed: renew(after: link)
        // The event is larger than what is left below the hard limit.
        case .full where !link.isStuck(for: bytes):
            await whenQuiet(link)
            // If the link was quiet already, the room has come just now, or another thread has reserved it and is about
            // to use it.
            await Task.yield()
        default: throw refusal(of: name, outcome)
        }
    }

    private func whenQuiet(_ link: Link) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            link.whenQuiet { continuation.resume() }
            // If the peer was closed just now, nothing else wakes this call.
            if closedReason != nil { link.wakeWaiters() }
        }
    }
}
