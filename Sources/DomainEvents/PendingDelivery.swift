/// The head of one event that waits for its handler or consumer; the event itself lies behind the head in memory.
///
/// The head takes 64 bytes, as much as a cache line of x86-64. A full context, if there is one, lies behind the event.
struct PendingDelivery {
    var next: UnsafeMutablePointer<PendingDelivery>?
    var previous: UnsafeMutablePointer<PendingDelivery>?
    let chunk: UnsafeMutablePointer<BacklogChunk>
    /// The subscriber, which lives at least until it has got the event; nil for a gap, where events were missed.
    var owner: Unmanaged<DeferredSubscriber>?
    /// Waits until the event has been handled; nil if no caller waits.
    var tracker: HandlingTracker?
    /// The event's number, unless there is a full context; in a gap, how many events were missed.
    var number: UInt64
    /// The event's time, unless there is a full context; in a gap, how many of the missed events never arrived.
    var nanosecondsSinceEpoch: UInt64
    /// The whole context; nil if number and time are enough.
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

/// The place of a ``PendingDelivery``; it does not move while the event waits or is being handled.
typealias DeliveryPlace = UnsafeMutablePointer<PendingDelivery>

extension DeliveryPlace {
    var event: RawEvent { RawEvent(UnsafeMutableRawPointer(self) + MemoryLayout<PendingDelivery>.stride) }

    var isGap: Bool { pointee.owner == nil }

    /// Whether the place has to be taken out alone: a tracker waits for its event, or it is a gap that may still grow.
    var isSingle: Bool { pointee.tracker != nil || isGap }

    /// Adds `count` missed events to a gap, `droppedOnTheWay` of which never arrived; only for gaps.
    ///
    /// Other processes say how many they have dropped, and may say any number: the sum stops at the largest `UInt64`.
    func growGap(by count: UInt64, droppedOnTheWay: UInt64 = 0) {
        pointee.number.addSaturating(count)
        pointee.nanosecondsSinceEpoch.addSaturating(droppedOnTheWay)
    }

    /// The event's context; a gap has none.
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

    /// Releases the event and its context; unless this is a gap, the caller holds no lock, as a deinit may publish.
    func release() {
        pointee.owner?._withUnsafeGuaranteedRef { $0.eventType.destroyRaw(event.address) }
        releaseHead()
    }

    /// Releases the context of an event that was moved away.
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
