/// A publisher that an event passes through, with the subscribers that the publisher has at this moment.
struct Destination {
    let channel: AnyEventChannel
    let subscribers: SubscriberList
    let publisher: EventPublisher
}

/// All publishers that an event passes through: nearly always one, which needs no allocation.
struct Destinations {
    let first: Destination
    var others: [Destination] = []

    var all: [Destination] { [first] + others }

    func forEach(_ body: (Destination) -> Void) {
        body(first)
        for destination in others { body(destination) }
    }

    func count(_ count: (SubscriberList) -> Int) -> Int {
        others.reduce(count(first.subscribers)) { $0 + count($1.subscribers) }
    }

    /// How many reports the tracker gets: one from each subscriber in a strand, and one from all inline handlers
    /// together, last.
    var partsOfDelivery: Int { count(\.deferred.count) + 1 }

    /// Whether the journal of the only publisher records the event, and notes which receivers it is owed to.
    var isRecorded: Bool { others.isEmpty && first.subscribers.isRecorded }

    var forwarders: [any EventForwarder] {
        others.isEmpty ? first.subscribers.forwarders : all.flatMap(\.subscribers.forwarders)
    }

    /// All strands that want the event; nil if there are none.
    func strands(for event: RawEvent) -> DestinationStrands? {
        if others.isEmpty {
            let subscribers = first.subscribers
            guard !subscribers.deferred.isEmpty else { return nil }
            return DestinationStrands(
                subscribers.deferred,
                event,
                lockMask: subscribers.lockMask,
                hasKeys: subscribers.hasKeys
            )
        }
        var deferred: [DeferredSubscriber] = []
        var lockMask: UInt32 = 0
        var hasKeys = false
        forEach { destination in
            deferred += destination.subscribers.deferred
            lockMask |= destination.subscribers.lockMask
            hasKeys = hasKeys || destination.subscribers.hasKeys
        }
        return deferred.isEmpty ? nil : DestinationStrands(deferred, event, lockMask: lockMask, hasKeys: hasKeys)
    }
}

/// The strands that want one event, with the event's keys: user code makes the keys, so they are made before any outbox
/// holds the event.
struct DestinationStrands {
    private let subscribers: [DeferredSubscriber]
    private let event: RawEvent
    private let lockMask: UInt32
    private let keys: [AnyHashable?]?

    fileprivate init(_ subscribers: [DeferredSubscriber], _ event: RawEvent, lockMask: UInt32, hasKeys: Bool) {
        self.subscribers = subscribers
        self.event = event
        self.lockMask = lockMask
        keys = hasKeys ? subscribers.keys(of: event) : nil
    }

    /// Puts the event into all strands in one step, then wakes the strands that need it.
    ///
    /// - Parameters:
    ///   - owed: the receivers that the event is owed to, for its journal.
    ///   - wasAppended: called when every strand has the event, before any is woken.
    func post(
        _ context: EventContext,
        owedTo owed: [OwedReceiver],
        _ tracker: HandlingTracker?,
        wasAppended: () -> Void
    ) {
        let stamp: EventStamp = owed.isEmpty ? .full(context) : .owed(context, to: owed)
        subscribers.post(event, stamp, tracker, lockMask: lockMask, keys: keys, wasAppended: wasAppended)
    }
}
