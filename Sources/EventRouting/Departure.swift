import BridgeProtocol
import BridgeTransport
import DomainEvents
import Locks

/// An event on its way out: its places in outboxes, and the work that remains after its release.
struct Departure: HeldEvent {
    private let name: String
    private let id: EventID
    /// When the sending of the event began, on the wall clock.
    let nanosecondsSinceEpoch: UInt64
    private let router: EventRouter
    /// The event's places in outboxes: each has room for the event, or holds the event until it is released.
    private var places: [Place]
    /// The receivers that the event is owed to, if it is recorded.
    var owed: [OwedReceiver] = []
    /// The events that overflow policies have taken out to make room for this event.
    var evicted: [(peer: Peer, event: Evicted)] = []
    /// The peers that have not taken the event.
    var losses: [Topic.Loss] = []
    /// The ledger of a publisher that waits, which gets the first loss as its error; nil if no publisher waits.
    ///
    /// The other losses are announced. A loss that becomes a dead letter is neither announced nor given to the ledger.
    var receipts: ReceiptLedger?
    /// Whether one of the links was busy when it got the event; then all count as busy.
    ///
    /// A thread that writes to many links in turn comes back to the first one long after its last write to it. So the
    /// first link could count as idle even in a flood.
    private var isGathered = false

    /// A place in an outbox.
    ///
    /// Its methods change it in place: a copy would count a reference to the link.
    fileprivate struct Place {
        let room: Link.Reservation
        /// The event's sequence in the outbox, or its ticket in the queue before it; nil if the event is not there, or
        /// has left.
        var sequence: UInt64?

        /// Puts the event in and holds it there; returns whether the link is busy, or nil if the event was not taken.
        mutating func hold(
            _ context: BorrowedContext,
            _ name: String,
            _ number: UInt64,
            _ payload: UnsafeRawBufferPointer,
            isOwed: Bool
        ) -> Bool? {
            let outcome = room.link.hold(
                context,
                name: name,
                number: number,
                in: room,
                payload: payload,
                isOwed: isOwed
            )
            guard case .accepted(let sequence, _) = outcome else { return nil }
            self.sequence = sequence
            return room.link.isBusy(at: context.nanosecondsSinceEpoch)
        }

        /// Lets the event leave, if it is there, and writes it.
        mutating func leave(at now: UInt64, isGathered: Bool) {
            guard let sequence = sequence.take() else { return }
            room.link.releaseAndFlush(sequence, at: now, isGathered: isGathered)
        }
    }

    /// - Parameters:
    ///   - now: when the sending of the event began, on the wall clock.
    ///   - targets: the peers that get the event, if all goes well, besides the attached peers.
    ///   - isHeld: whether the event is held in the outboxes beyond the call that puts it there.
    init(
        of name: String,
        _ context: EventContext,
        at now: UInt64,
        by router: EventRouter,
        to targets: [Peer],
        _ attached: [Peer],
        isHeld: Bool
    ) {
        self.name = name
        id = context.id
        nanosecondsSinceEpoch = now
        self.router = router
        places = isHeld ? [] : SparePlaces.take()
        places.reserveCapacity(targets.count + attached.count)
    }

    // MARK: - Into the outboxes

    /// How many places the event has.
    var count: Int { places.count }

    /// The room that is kept for the event in one of its places.
    func room(at index: Int) -> Link.Reservation { places[index].room }

    /// Adds a place in which only room is kept.
    mutating func add(_ room: Link.Reservation) { places.append(Place(room: room)) }

    /// Gives back all room: the event goes nowhere.
    mutating func cancel() {
        for place in places { place.room.cancel() }
        SparePlaces.giveBack(&places)
    }

    /// Holds the event in the peers' outboxes; stops at the first peer that has policies or does not take the event.
    ///
    /// If room was reserved, the event has a place at each peer already, in the same order.
    ///
    /// - Parameter isOwed: whether a journal records the event, and has to hear what becomes of it at these peers.
    /// - Returns: How many of the peers have got the event.
    mutating func hold(
        _ context: EventContext,
        number: UInt64,
        _ payload: UnsafeRawBufferPointer,
        at targets: [Peer],
        isOwed: Bool
    ) -> Int {
        context.withBorrowed { context in
            for index in targets.indices {
                if targets[index].hasPolicies { return index }
                if index == places.count {
                    guard let link = targets[index].presentLink(for: name) else { return index }
                    add(Link.Reservation(ofNothingAt: link))
                }
                guard let isBusy = places[index].hold(context, name, number, payload, isOwed: isOwed) else {
                    return index
                }
                if isBusy { isGathered = true }
                if isOwed { owed.append(targets[index].owed(name)) }
            }
            return targets.count
        }
    }

    /// Adds a place in which the event is held, or in which a policy has dropped it.
    mutating func add(_ place: Peer.Place) {
        places.append(Place(room: Link.Reservation(ofNothingAt: place.link), sequence: place.sequence))
        if place.link.isBusy(at: nanosecondsSinceEpoch) { isGathered = true }
    }

    // MARK: - Out of the outboxes

    func release() {
        for place in places { if let sequence = place.sequence { place.room.link.release(sequence) } }
    }

    func flush() {
        for place in places where place.sequence != nil {
            place.room.link.flush(at: nanosecondsSinceEpoch, isGathered: isGathered)
        }
        tellRest()
    }

    /// Lets the event leave all outboxes, and writes it; called once, in place of ``release()`` and ``flush()``.
    mutating func leave() {
        for index in places.indices { places[index].leave(at: nanosecondsSinceEpoch, isGathered: isGathered) }
        SparePlaces.giveBack(&places)
        tellRest()
    }

    /// Reports the events that policies have taken out, and the peers that have not taken the event.
    private func tellRest() {
        for (peer, event) in evicted { router.wasEvicted(event, at: peer) }
        // The report of a dead letter names the event, so the report comes after the event.
        for (index, loss) in losses.enumerated() {
            if router.keeps(loss) { continue }
            guard index == 0, let receipts else {
                router.announce(loss, of: name)
                continue
            }
            receipts.lost(loss.error.identified(by: id)) { [router, name] isClaimed in
                if !isClaimed { router.announce(loss, of: name) }
            }
        }
    }
}

/// A thread's memory for the places of an event, kept from one event to the next.
private final class SparePlaces {
    @exclusivity(unchecked) private var places: [Departure.Place] = []

    private static var slot: ThreadSpecific<SparePlaces> { ThreadSpecific(.sparePlaces) }

    /// The calling thread's object, which lives as long as the thread.
    private static var current: Unmanaged<SparePlaces> {
        if let existing = slot.unmanagedValue { return existing }
        let made = SparePlaces()
        slot.value = made
        return .passUnretained(made)
    }

    /// An empty array, with memory if no other event of this thread has it.
    static func take() -> [Departure.Place] {
        current._withUnsafeGuaranteedRef { spare in
            var taken: [Departure.Place] = []
            swap(&taken, &spare.places)
            return taken
        }
    }

    /// Empties the array, and keeps its memory.
    static func giveBack(_ places: inout [Departure.Place]) {
        places.removeAll(keepingCapacity: true)
        current._withUnsafeGuaranteedRef { swap(&places, &$0.places) }
    }
}
