import BridgePlatform
package import BridgeProtocol
import CBOR
package import DomainEvents
import Locks

/// Before the outbox: where events wait that may still be dropped, and what is said of those that were.
///
/// A link on which every event waits for room needs none of this: its events go into the outbox at once, and the queue holds
/// nothing but gaps that found no room there. On a link with policies every event passes through the queue, and moves on into the outbox
/// when the window lets it out: what lies in the outbox has a link sequence, and nothing may be missing there.
extension Link {
    /// An event that a policy has taken out of the queue, or has not let in.
    package struct Displaced: Sendable {
        package let name: String
        package let context: EventContext
        package let wantsReceipt: Bool
        /// Whether a later event has taken its place, and it is neither announced nor a gap.
        package let isCoalesced: Bool
    }

    // MARK: - Room

    /// Charged bytes of all that is kept.
    ///
    /// With the lock held.
    var keptBytes: Int { outbox.chargedBytes + queue.chargedBytes }

    /// With the lock held.
    var keptEvents: Int { outbox.count + queue.count }

    /// With the lock held.
    var isEmpty: Bool { outbox.isEmpty && queue.isEmpty }

    /// Whether the window lets something out, or a gap may be put in.
    ///
    /// With the lock held.
    var hasWritable: Bool { outbox.hasWritable || hasPromotable }

    // MARK: - In

    /// Puts an event into the queue as its policy says.
    ///
    /// With the lock held.
    func offer(_ event: OverflowQueue.Waiting, isHeld: Bool, displaced: inout [Displaced]) -> Enqueued {
        var key: [UInt8]?
        switch limits.overflow.policy(of: event.name) {
        case .wait, .fail: break
        case .dropNewest:
            if !hasRoom(for: event) { return drop(event, &displaced) }
        case .dropOldest:
            if !makeRoom(for: event, &displaced) { return drop(event, &displaced) }
        case .latest(let field):
            key = event.payload.withUnsafeBytes { PayloadField.value(of: field, in: $0) }
            if let key, let older = queue.supersede(name: event.name, key: key) {
                overflowTally.coalesced += 1
                trace?.wasDropped(older.context.id)
                displaced.append(Displaced(older, isCoalesced: true))
            }
            if !makeRoom(for: event, &displaced) { return drop(event, &displaced) }
        }
        let ticket = queue.append(event, key: key, isHeld: isHeld)
        if trace != nil, event.name != EventsTraced.eventName {
            trace?.waits(event.context.id, at: MonotonicClock.now())
        }
        // Where events are dropped nobody waits, and so nobody is slowed.
        return .accepted(sequence: ticket, isCrowded: (isCrowded || isBackedUp) && waits(event.name))
    }

    private func waits(_ name: String) -> Bool { limits.overflow.policy(of: name) == .wait }

    /// What is handled is in nobody's way below the hard limit, though it is kept until what lies before it is handled too.
    ///
    /// - Parameter freed: what would be taken out for it.
    private func hasRoom(for event: OverflowQueue.Waiting, without freed: Int = 0) -> Bool {
        if isEmpty { return true }
        return outbox.unhandledBytes + queue.chargedBytes - freed + event.charge <= limits.outboxBytes
            && keptBytes - freed + event.charge <= limits.outboxHardBytes
    }

    /// Takes out as many of the older events of its name as it needs; none if all of them were not enough.
    private func makeRoom(for event: OverflowQueue.Waiting, _ displaced: inout [Displaced]) -> Bool {
        guard hasRoom(for: event, without: queue.chargedBytes(of: event.name)) else { return false }
        while !hasRoom(for: event) {
            guard let oldest = queue.dropOldest(of: event.name) else { return false }
            overflowTally.dropped += 1
            trace?.wasDropped(oldest.context.id)
            displaced.append(Displaced(oldest, isCoalesced: false))
        }
        return true
    }

    private func drop(_ event: OverflowQueue.Waiting, _ displaced: inout [Displaced]) -> Enqueued {
        queue.append(Gap(event.context.id, name: event.name, reason: .policy))
        overflowTally.dropped += 1
        displaced.append(Displaced(event, isCoalesced: false))
        return .dropped
    }

    /// Tells the peer, in the place where they would have come, that events are missing.
    package func note(_ gap: Gap) {
        let isNoted = lock.withLock {
            guard closed == nil else { return false }
            queue.append(gap)
            return true
        }
        if isNoted { pump() }
    }

    // MARK: - On into the outbox

    /// With the lock held.
    private var hasPromotable: Bool { !queue.isEmpty && (queue.first.map(mayLeave) ?? false) }

    /// Whether what is at the front may go on.
    ///
    /// With the lock held.
    private func mayLeave(_ entry: OverflowQueue.Entry) -> Bool {
        switch entry {
        case .gap: mayGapLeave
        case .event(let event): outbox.hasWindow(for: event.charge)
        }
    }

    /// Whether the gap at the front may go on: not right behind another one, unless an event follows.
    ///
    /// A gap in the queue grows with what is dropped, one in the outbox does not: while nothing but gaps has room, each drop would put
    /// one more into the outbox.
    ///
    /// With the lock held.
    private var mayGapLeave: Bool {
        if outbox.endsWithGap {
            return queue.chargeThroughFirstEvent.map { outbox.hasWindow(for: $0) } ?? false
        }
        // Where nothing is dropped by policy the window does not matter: the outbox holds what it does not let out.
        return limits.overflow.isPlain || outbox.hasWindow(for: LinkLimits.minimumCharge)
    }

    /// Moves on what the window lets out, about as much as one write takes.
    ///
    /// With the lock held.
    func promote(atMost bytes: Int) {
        guard !queue.isEmpty else { return }
        var moved = 0
        while moved < bytes, let entry = queue.first, mayLeave(entry) {
            switch entry {
            case .gap(let gap):
                guard append(gap) else { return }
                moved += LinkLimits.minimumCharge
            case .event(let event):
                guard append(event) else { return }
                moved += event.charge
            }
            queue.removeFirst()
        }
    }

    /// Moves all gaps on ahead of an event that goes into the outbox at once.
    ///
    /// With the lock held.
    func promoteGaps() {
        while case .gap(let gap) = queue.first, append(gap) { queue.removeFirst() }
    }

    /// With the lock held.
    private func append(_ event: OverflowQueue.Waiting) -> Bool {
        event.payload.withUnsafeBytes { payload in
            append(
                event.context,
                name: event.name,
                attempt: event.attempt,
                wantsReceipt: event.wantsReceipt,
                payload: payload
            )
        }
    }

    /// With the lock held.
    func append(_ gap: Gap) -> Bool {
        let frame = GapFrame(
            sequence: outbox.lastSequence &+ 1,
            name: peerInterest.number(of: gap.name).map(WireName.number) ?? .text(gap.name),
            count: gap.count.asWritten,
            reason: gap.reason,
            ranges: gap.ranges.map { GapFrame.Range(first: parties.written($0.first), last: $0.last.asWritten) }
        )
        headBuffer.removeAll()
        frame.encode(into: headBuffer)
        let bytes = headBuffer.bytes
        guard
            let place = outbox.append(frameLength: bytes.count, source: parties.own, number: 0, isGap: true),
            let start = bytes.baseAddress
        else { return false }
        place.copyMemory(from: start, byteCount: bytes.count)
        outbox.frameWasWritten(frameLength: bytes.count)
        return true
    }

    // MARK: - From one incarnation to the next

    /// Takes over what waited before the outbox of the link before this one.
    func adopt(_ waiting: OverflowQueue) {
        lock.withLock {
            queue = waiting
            // Whoever held something holds it in a link that has ended.
            queue.releaseAll()
        }
    }

    /// Puts a gap of the link before this one into the outbox.
    func takeOver(_ gap: Gap) {
        _ = lock.withLock { append(gap) }
    }

    /// The gap that a frame of this side stands for.
    ///
    /// With the lock held.
    func gap(of body: UnsafeRawBufferPointer) -> Gap? {
        // Our own frame; it decodes.
        guard let frame = try? GapFrame(decoding: body, limits: limits) else { return nil }
        return parties.written(frame, name: name(of: frame.name))
    }

    // MARK: - Gaps of the peer

    /// What the peer says is missing; nil before the handshake.
    package func gap(_ frame: GapFrame, named name: String) -> Gap? {
        lock.withLock { parties }.received(frame, name: name)
    }
}

extension Link.Displaced {
    fileprivate init(_ event: OverflowQueue.Waiting, isCoalesced: Bool) {
        self.init(
            name: event.name,
            context: event.context,
            wantsReceipt: event.wantsReceipt,
            isCoalesced: isCoalesced
        )
    }
}
