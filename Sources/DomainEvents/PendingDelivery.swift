/// One event on its way to a handler that runs elsewhere, at the head of its memory; the event itself lies behind it.
///
/// The head fills one cache line. What is usually absent takes no room.
struct PendingDelivery {
    var next: UnsafeMutablePointer<PendingDelivery>?
    var previous: UnsafeMutablePointer<PendingDelivery>?
    let chunk: UnsafeMutablePointer<BacklogChunk>
    /// Whom it is for, who lives as long as this waits; nil where events were missed and there is none.
    var owner: Unmanaged<DeferredSubscriber>?
    /// Who waits until it has been handled.
    var tracker: HandlingTracker?
    /// The event's number, unless there is a full context; without an event, how many were missed.
    var number: UInt64
    /// Without an event, how many of those missed never arrived.
    var nanosecondsSinceEpoch: UInt64
    /// Given if number and time do not say all.
    let fullContext: UnsafeMutablePointer<EventContext>?

    init(
        in chunk: UnsafeMutablePointer<BacklogChunk>,
        number: UInt64 = 0,
        nanosecondsSinceEpoch: UInt64 = 0,
        fullContext: UnsafeMutablePointer<EventContext>? = nil
    ) {
        self.chunk = chunk
        self.number = number
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.fullContext = fullContext
    }
}

/// The place of a ``PendingDelivery``: it stays where it is as long as it waits and is being handled.
typealias DeliveryPlace = UnsafeMutablePointer<PendingDelivery>

extension DeliveryPlace {
    /// Where the event lies.
    var event: RawEvent { RawEvent(UnsafeMutableRawPointer(self) + MemoryLayout<PendingDelivery>.stride) }

    var isGap: Bool { pointee.owner == nil }

    /// Whether it has to be taken alone: a tracker waits for it, or it is a gap that may still grow.
    var isSingle: Bool { pointee.tracker != nil || isGap }

    /// Only where events were missed: so many more are, of which some never arrived.
    ///
    /// Other processes say how many they have dropped, and a number beyond the largest is the largest.
    func growGap(by count: UInt64, droppedOnTheWay: UInt64 = 0) {
        pointee.number.addSaturating(count)
        pointee.nanosecondsSinceEpoch.addSaturating(droppedOnTheWay)
    }

    /// Only for events.
    var context: EventContext {
        if let full = pointee.fullContext { return full.pointee }
        guard let owner = pointee.owner else { preconditionFailure("a gap has no context") }
        return owner._withUnsafeGuaranteedRef { owner in
            EventContext(
                id: EventID(source: owner.source, number: pointee.number),
                nanosecondsSinceEpoch: pointee.nanosecondsSinceEpoch
            )
        }
    }

    /// Lets go of the event and all that is known about it; never under a lock, as it may run a deinit that publishes.
    func release() {
        pointee.owner?._withUnsafeGuaranteedRef { $0.eventType.destroyRaw(event.address) }
        releaseHead()
    }

    /// The same for an event that was moved away.
    func releaseHead() {
        pointee.fullContext?.deinitialize(count: 1)
        deinitialize(count: 1)
    }
}

extension UInt64 {
    fileprivate mutating func addSaturating(_ other: UInt64) {
        let (sum, overflow) = addingReportingOverflow(other)
        self = overflow ? .max : sum
    }
}
