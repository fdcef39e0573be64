import BridgeProtocol
package import DomainEvents
import Locks

/// One of several links to which an event goes at once.
package struct JoinedLink: BitwiseCopyable {
    private let link: Unmanaged<Link>
    private var flush = WriterState.Flush.byOthers

    /// How many links an event may go to at once: another thread may have to wait until all of them have the event.
    package static let most = 32

    /// How many bytes may be copied to all outboxes together while the locks are held.
    package static let mostBytes = 256 << 10

    /// Retains the link until ``release()``.
    package init(_ link: Link) { self.link = .passRetained(link) }

    package func release() { link.release() }

    /// Puts an event into the outboxes of all links and then writes it, or puts it into none of them; only for links
    /// whose overflow policies are all `wait`.
    ///
    /// The calling thread holds the locks of all links until all outboxes have the event. So no link writes it earlier,
    /// no peer sees an effect of the event before the event, and all peers get the events of several threads in the
    /// same order.
    ///
    /// - Parameters:
    ///   - number: this process's number for the name.
    ///   - ifFull: with `wait` and `turn`, no link takes the event if a publisher has to wait at one of them.
    ///   - links: at most ``most``, each of another peer; the call changes their order.
    /// - Returns: Whether the links took the event.
    package static func send(
        _ context: BorrowedContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer,
        ifFull: FullOutboxAction,
        over links: UnsafeMutableBufferPointer<JoinedLink>
    ) -> Bool {
        sort(links)
        for joined in links { joined.link._withUnsafeGuaranteedRef { $0.lock.lock() } }
        let areReady = links.allSatisfy { joined in
            joined.link._withUnsafeGuaranteedRef { $0.takes(payload, name: name, ifFull: ifFull) }
        }
        guard areReady else {
            for joined in links { joined.link._withUnsafeGuaranteedRef { $0.lock.unlock() } }
            return false
        }
        let now = context.nanosecondsSinceEpoch
        // A thread that writes to many links in turn comes back to the first one long after its last write to it. So
        // the first link could count as idle even in a flood. If one link is busy, therefore, all count as busy.
        let isGathered = links.contains { joined in joined.link._withUnsafeGuaranteedRef { $0.isBusy(at: now) } }
        for index in links.indices {
            links[index].link._withUnsafeGuaranteedRef { link in
                links[index].flush = link.takeJoined(
                    context,
                    name: name,
                    number: number,
                    payload: payload,
                    isGathered: isGathered
                )
            }
        }
        for joined in links { joined.link._withUnsafeGuaranteedRef { $0.lock.unlock() } }
        for joined in links {
            switch joined.flush {
            case .byOthers: break
            case .now: joined.link._withUnsafeGuaranteedRef { $0.pump() }
            case .soon: joined.link._withUnsafeGuaranteedRef { $0.leaveToPoller() }
            }
        }
        return true
    }

    /// Brings the links into the order in which a thread takes their locks; they nearly always have it already.
    private static func sort(_ links: UnsafeMutableBufferPointer<JoinedLink>) {
        for index in links.indices.dropFirst() {
            var place = index
            while place > 0, links[place].order < links[place - 1].order {
                links.swapAt(place, place - 1)
                place -= 1
            }
        }
    }

    private var order: UInt64 { link._withUnsafeGuaranteedRef { $0.lock.order } }
}

extension Link {
    /// Whether an event would be taken at once; false also for an outbox in shared memory, which may have no room left.
    ///
    /// With the lock held.
    fileprivate func takes(_ payload: UnsafeRawBufferPointer, name: String, ifFull: FullOutboxAction) -> Bool {
        closed == nil && sharedHead == nil && !mustWait(ifFull) && sending.takes(payload, name: name)
    }

    /// Takes an event for which ``takes(_:name:ifFull:)`` was true; returns which thread writes it.
    ///
    /// With the lock held.
    fileprivate func takeJoined(
        _ context: BorrowedContext,
        name: String,
        number: UInt64,
        payload: UnsafeRawBufferPointer,
        isGathered: Bool
    ) -> WriterState.Flush {
        // `takes` has found room, an empty queue and a size that the peer takes, and the lock was not released since.
        guard case .accepted = sending.take(context, name: name, number: number, as: .withRoom, payload: payload) else {
            preconditionFailure("An outbox in this process's own memory takes every frame")
        }
        if trace != nil { traceSteps() }
        return flushing(at: context.nanosecondsSinceEpoch, isGathered: isGathered)
    }
}
