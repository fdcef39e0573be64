import BridgeProtocol
import DomainEvents
import Locks

/// Room that is kept in an outbox for an event which is to go into all outboxes or into none.
extension Link {
    /// Room for one event: used up by ``enqueue(_:name:attempt:isHeld:wantsReceipt:reservation:payload:displaced:)``, or given back.
    package struct Reservation: Sendable {
        fileprivate let link: Link
        fileprivate let bytes: Int

        /// Gives the room back that is not needed after all.
        package func cancel() {
            link.lock.withLock { link.reservedBytes -= bytes }
        }
    }

    /// Whether there is room for an event.
    package enum Reserving {
        case reserved(Reservation)
        /// Why there is none.
        case refused(Enqueued)
    }

    /// Keeps room for an event, so that nobody else takes it meanwhile.
    ///
    /// - Parameter ifThereIsRoom: whether it is not kept where waiting begins.
    package func reserve(for payload: UnsafeRawBufferPointer, name: String, ifThereIsRoom: Bool) -> Reserving {
        lock.withLock {
            if let closed { return .refused(closed) }
            if ifThereIsRoom, !hasRoomNow, limits.overflow.policy(of: name) == .wait { return .refused(.crowded) }
            if let problem = problem(with: payload, name: name) { return .refused(problem) }
            let bytes = LinkLimits.charge(forFrameOf: payload.count + Self.headAllowance)
            reservedBytes += bytes
            return .reserved(Reservation(link: self, bytes: bytes))
        }
    }

    /// Whether this is where the room was kept; of the link before this one it is no use.
    ///
    /// With the lock held.
    func use(_ reservation: Reservation?) -> Bool {
        guard let reservation, reservation.link === self else { return false }
        reservedBytes -= reservation.bytes
        return true
    }

    /// Why an event would not be taken; nil if it would.
    ///
    /// With the lock held.
    func problem(with payload: UnsafeRawBufferPointer, name: String, isAccepted: Bool = false) -> Enqueued? {
        guard payload.count <= maximumPeerFrame - Self.headAllowance else {
            return .tooLarge(size: payload.count, limit: maximumPeerFrame - Self.headAllowance)
        }
        let limit: Int
        switch limits.overflow.policy(of: name) {
        case .wait:
            if isAccepted { return nil }
            limit = limits.outboxHardBytes
        case .fail: limit = limits.outboxBytes
        // They make room, or need none.
        case .dropOldest, .dropNewest, .latest: return nil
        }
        let taken = keptBytes + reservedBytes
        if taken == 0 { return nil }
        // Of events of 256 bytes the books of an outbox take a seventh of what the frames do. Below the limit where waiting begins they
        // do not count: whoever has waited for room is to find it.
        let books = keptBytes < limits.outboxBytes ? 0 : outbox.bookkeepingBytes + queue.bookkeepingBytes
        return taken + books + payload.count <= limit ? nil : .full(limit: limit)
    }
}
