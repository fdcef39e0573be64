/// A publisher that delivers an event, with the subscribers that the publisher has at this moment.
struct Destination {
    let channel: AnyEventChannel
    let subscribers: SubscriberList
    let publisher: EventPublisher
}

/// All publishers that deliver an event: nearly always one, which needs no allocation.
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

    /// Whether there are handlers on the publishing thread.
    var hasInline: Bool { first.subscribers.inlineCount > 0 || others.contains { $0.subscribers.inlineCount > 0 } }

    /// How many reports the tracker gets: one from each subscriber in a strand, one from all inline handlers together.
    var partsOfDelivery: Int { count { $0.deferred.count } + 1 }

    /// Whether all subscribers in strands are journals, whose rooms are always open.
    var strandsOnlyRecord: Bool {
        first.subscribers.deferred.allSatisfy { $0.onlyRecords }
            && others.allSatisfy { $0.subscribers.deferred.allSatisfy { $0.onlyRecords } }
    }

    /// Where the subscribers in strands were subscribed.
    var strandSites: [SubscriptionSite] {
        if others.isEmpty { return first.subscribers.deferred.map { $0.site } }
        return all.flatMap { $0.subscribers.deferred.map { $0.site } }
    }

    /// Whether only one publisher delivers the event, and that publisher's own journal records the event and the
    /// receivers to which the event is owed.
    var isRecorded: Bool { others.isEmpty && first.subscribers.isRecorded }

    var forwarders: [any EventForwarder] {
        others.isEmpty ? first.subscribers.forwarders : all.flatMap(\.subscribers.forwarders)
    }

    /// The rooms of all strands that want the event, in the one order in which all senders reserve places.
    ///
    /// Publishers may pass events on to each other in a circle, so the order of subscriptions differs between senders.
    var roomsInOrder: [Room] {
        if others.isEmpty, first.subscribers.deferred.count <= 1 { return first.subscribers.deferred.map { $0.room } }
        return all.flatMap { $0.subscribers.deferred.map(\.room) }.sorted { $0.number < $1.number }
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
                needsPreparation: subscribers.needsPreparation
            )
        }
        var deferred: [DeferredSubscriber] = []
        var lockMask: UInt32 = 0
        var needsPreparation = false
        forEach { destination in
            deferred += destination.subscribers.deferred
            lockMask |= destination.subscribers.lockMask
            needsPreparation = needsPreparation || destination.subscribers.needsPreparation
        }
        return deferred.isEmpty
            ? nil : DestinationStrands(deferred, event, lockMask: lockMask, needsPreparation: needsPreparation)
    }
}

/// The strands that want one event, with what they need of it, such as a key.
///
/// The key is made by user code, which runs before any outbox holds the event.
struct DestinationStrands {
    private let subscribers: [DeferredSubscriber]
    private let event: RawEvent
    private let lockMask: UInt32
    private let preparations: EventPreparations

    fileprivate init(_ subscribers: [DeferredSubscriber], _ event: RawEvent, lockMask: UInt32, needsPreparation: Bool) {
        self.subscribers = subscribers
        self.event = event
        self.lockMask = lockMask
        preparations = needsPreparation ? subscribers.prepare(event) : .nothing
    }

    /// Puts the event into all strands in one step, then wakes the strands that have to be woken.
    ///
    /// - Parameters:
    ///   - owed: the receivers that the event is owed to, for its journal.
    ///   - wasAppended: called when every strand has the event, before any is woken, with all that is left to do.
    func post(
        _ context: EventContext,
        owedTo owed: [OwedReceiver],
        _ tracker: HandlingTracker?,
        wasAppended: (AppendOutcome) -> Void
    ) {
        let stamp: EventStamp = owed.isEmpty ? .full(context) : .owed(context, to: owed)
        subscribers.post(event, stamp, tracker, lockMask: lockMask, preparations, wasAppended: wasAppended)
    }
}
