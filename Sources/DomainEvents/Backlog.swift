/// The events that wait for one strand, task or consumer: of any type, oldest first, in memory that is reused.
///
/// The strand, task or consumer guards the backlog with its lock. The deinit of an event may publish or cancel, so the
/// backlog releases no event: all events have to be taken out before the backlog is released.
struct Backlog: ~Copyable {
    private(set) var first: DeliveryPlace?
    private(set) var last: DeliveryPlace?
    private var filling: UnsafeMutablePointer<BacklogChunk>?
    private var spares: UnsafeMutablePointer<BacklogChunk>?
    private var spareCount = 0
    private let arrivals: ArrivalFlag

    private static let smallestChunk = 1_024
    private static let largestChunk = 16_384
    private static let spareLimit = 4

    init(_ arrivals: ArrivalFlag) {
        self.arrivals = arrivals
    }

    deinit {
        assert(first == nil, "events were left in a backlog")
        if let filling { filling.deallocate() }
        var spare = spares
        while let chunk = spare {
            spare = chunk.pointee.next
            chunk.deallocate()
        }
    }

    var isEmpty: Bool { first == nil }

    // MARK: - In

    /// Puts a copy of the event at the end.
    @discardableResult
    mutating func append(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        for owner: DeferredSubscriber
    )
        -> DeliveryPlace
    {
        let place = makePlace(event, stamp, tracker, for: owner)
        link(place)
        return place
    }

    /// Puts the event in the place of `older`; returns the new place.
    mutating func replace(
        _ older: DeliveryPlace,
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        for owner: DeferredSubscriber
    ) -> DeliveryPlace {
        let place = makePlace(event, stamp, tracker, for: owner)
        place.pointee.next = older.pointee.next
        place.pointee.previous = older.pointee.previous
        relink(around: older, next: place, previous: place)
        return place
    }

    /// Appends a gap for missed events, or adds them to the gap at the end.
    ///
    /// - Parameter droppedOnTheWay: how many of the missed events never arrived.
    mutating func appendMissed(_ count: UInt64 = 1, droppedOnTheWay: UInt64 = 0) {
        if let last, last.isGap {
            last.growGap(by: count, droppedOnTheWay: droppedOnTheWay)
        } else {
            link(makeGap(count, droppedOnTheWay: droppedOnTheWay))
        }
    }

    /// Takes the oldest event out and leaves a gap in its place; this gap and the gaps before and behind it become one.
    ///
    /// So two gaps never lie side by side, and what lies behind a gap is an event.
    mutating func missOldest() -> DeliveryPlace? {
        guard let first else { return nil }
        if first.isGap {
            guard let oldest = first.pointee.next else { return nil }
            remove(oldest)
            first.growGap(by: 1)
            joinNextGap(to: first)
            return oldest
        }
        let gap = makeGap()
        gap.pointee.next = first.pointee.next
        relink(around: first, next: gap, previous: gap)
        joinNextGap(to: gap)
        return first
    }

    private mutating func joinNextGap(to gap: DeliveryPlace) {
        guard let next = gap.pointee.next, next.isGap else { return }
        gap.growGap(by: next.pointee.number, droppedOnTheWay: next.pointee.nanosecondsSinceEpoch)
        remove(next)
        // A gap holds no event and no context, so this runs no user's code under the lock that guards the backlog.
        next.release()
        giveBack(next)
    }

    private mutating func makeGap(_ count: UInt64 = 1, droppedOnTheWay: UInt64 = 0) -> DeliveryPlace {
        let (place, chunk) = allocate(MemoryLayout<PendingDelivery>.stride)
        place.initialize(to: PendingDelivery(in: chunk, number: count, nanosecondsSinceEpoch: droppedOnTheWay))
        return place
    }

    private mutating func makePlace(
        _ event: RawEvent,
        _ stamp: EventStamp,
        _ tracker: HandlingTracker?,
        for owner: DeferredSubscriber
    ) -> DeliveryPlace {
        let bytes = MemoryLayout<PendingDelivery>.stride + owner.eventBytes
        let place: DeliveryPlace
        switch stamp {
        case .fresh(let number, let time):
            let (memory, chunk) = allocate(bytes)
            place = memory
            place.initialize(to: PendingDelivery(in: chunk, number: number, nanosecondsSinceEpoch: time))
        case .full(let context), .owed(let context, _):
            let (memory, chunk) = allocate(bytes + MemoryLayout<EventContext>.stride)
            place = memory
            let full = (UnsafeMutableRawPointer(place) + bytes).bindMemory(to: EventContext.self, capacity: 1)
            full.initialize(to: context)
            place.initialize(to: PendingDelivery(in: chunk, fullContext: full))
        }
        place.pointee.owner = .passUnretained(owner)
        place.pointee.tracker = tracker
        owner.eventType.copyRaw(from: event.address, to: place.event.address)
        return place
    }

    // MARK: - Out

    /// Takes out the oldest events; an event that has to be taken out alone comes alone.
    ///
    /// When the caller has released the events, it calls ``giveBack(_:)``.
    mutating func take(atMost limit: Int) -> DeliveryBatch {
        guard let first else { return DeliveryBatch() }
        var last = first
        var count = 1
        if !first.isSingle {
            while count < limit, let next = last.pointee.next, !next.isSingle {
                last = next
                count += 1
            }
        }
        self.first = last.pointee.next
        self.first?.pointee.previous = nil
        if self.first == nil {
            self.last = nil
            arrivals.set(false)
        }
        return DeliveryBatch(first: first, count: count)
    }

    /// Takes out the events for one subscriber, or all events; after their release, the caller calls ``giveBack(_:)``.
    mutating func takeAll(of owner: DeferredSubscriber? = nil) -> DeliveryBatch {
        var taken: DeliveryPlace?
        var lastTaken: DeliveryPlace?
        var count = 0
        var next = first
        while let place = next {
            next = place.pointee.next
            if let owner, place.pointee.owner?.toOpaque() != Unmanaged.passUnretained(owner).toOpaque() { continue }
            remove(place)
            place.pointee.next = nil
            if let lastTaken { lastTaken.pointee.next = place } else { taken = place }
            lastTaken = place
            count += 1
        }
        return taken.map { DeliveryBatch(first: $0, count: count) } ?? DeliveryBatch()
    }

    /// Takes back the memory of places whose content has been released, to reuse it.
    mutating func giveBack(_ batch: DeliveryBatch) {
        var next = batch.first
        for left in stride(from: batch.count, to: 0, by: -1) {
            guard let place = next else { return }
            // The place after the last one is not part of the batch.
            if left > 1 { next = place.pointee.next }
            giveBack(place)
        }
    }

    /// Takes back the memory of one place whose content has been released, to reuse it.
    mutating func giveBack(_ place: DeliveryPlace) {
        let chunk = place.pointee.chunk
        chunk.pointee.live -= 1
        guard chunk.pointee.live == 0 else { return }
        if chunk == filling {
            chunk.pointee.used = 0
        } else if spareCount < Self.spareLimit, chunk.pointee.capacity == Self.largestChunk {
            chunk.pointee.used = 0
            chunk.pointee.next = spares
            spares = chunk
            spareCount += 1
        } else {
            chunk.deallocate()
        }
    }

    // MARK: - Links

    private mutating func link(_ place: DeliveryPlace) {
        if let last {
            last.pointee.next = place
            place.pointee.previous = last
        } else {
            first = place
            arrivals.set(true)
        }
        last = place
    }

    private mutating func remove(_ place: DeliveryPlace) {
        relink(around: place, next: place.pointee.next, previous: place.pointee.previous)
        if first == nil { arrivals.set(false) }
    }

    /// Makes the neighbours of a place point to `next` and `previous`; `first` or `last` stands in for a missing
    /// neighbour.
    private mutating func relink(around place: DeliveryPlace, next: DeliveryPlace?, previous: DeliveryPlace?) {
        if let before = place.pointee.previous { before.pointee.next = next } else { first = next }
        if let after = place.pointee.next { after.pointee.previous = previous } else { last = previous }
    }

    // MARK: - Memory

    private mutating func allocate(_ bytes: Int) -> (DeliveryPlace, UnsafeMutablePointer<BacklogChunk>) {
        let size = (bytes + 15) / 16 * 16
        var chunk = filling
        if let full = chunk, full.pointee.capacity - full.pointee.used < size {
            chunk = nil
            // If no place in it is in use, the chunk is empty but too small, and `giveBack` would never release it.
            if full.pointee.live == 0 {
                full.deallocate()
                filling = nil
            }
        }
        let free = chunk ?? nextChunk(for: size)
        let place = (UnsafeMutableRawPointer(free) + BacklogChunk.headBytes + free.pointee.used)
            .bindMemory(to: PendingDelivery.self, capacity: 1)
        free.pointee.used += size
        free.pointee.live += 1
        return (place, free)
    }

    private mutating func nextChunk(for size: Int) -> UnsafeMutablePointer<BacklogChunk> {
        let chunk: UnsafeMutablePointer<BacklogChunk>
        if let spare = spares, spare.pointee.capacity >= size {
            spares = spare.pointee.next
            spareCount -= 1
            chunk = spare
        } else {
            let larger = min(filling.map { $0.pointee.capacity * 2 } ?? Self.smallestChunk, Self.largestChunk)
            chunk = BacklogChunk.make(capacity: max(larger, size))
        }
        filling = chunk
        return chunk
    }
}
