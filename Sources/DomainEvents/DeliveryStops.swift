/// A publisher that an event passes on its way, with its routes at this moment.
struct DeliveryStop {
    let channel: AnyEventChannel
    let routes: Routes
    let publisher: EventPublisher
}

/// All publishers that an event passes: nearly always one, which takes no memory.
struct DeliveryStops {
    let first: DeliveryStop
    var others: [DeliveryStop] = []

    var all: [DeliveryStop] { [first] + others }

    func forEach(_ body: (DeliveryStop) -> Void) {
        body(first)
        for stop in others { body(stop) }
    }

    func count(_ count: (Routes) -> Int) -> Int {
        others.reduce(count(first.routes)) { $0 + count($1.routes) }
    }

    /// How many reports the tracker gets: one from each subscriber in a line, and one from all inline handlers
    /// together, last.
    var partsOfDelivery: Int { count(\.deferred.count) + 1 }

    /// The ways out of the process.
    var forwarders: [any EventForwarder] {
        others.isEmpty ? first.routes.forwarders : all.flatMap(\.routes.forwarders)
    }

    /// All lines that want the event; nil if there are none.
    func lines(for event: RawEvent) -> StopLines? {
        if others.isEmpty {
            let routes = first.routes
            guard !routes.deferred.isEmpty else { return nil }
            return StopLines(routes.deferred, event, lockMask: routes.lockMask, hasKeys: routes.hasKeys)
        }
        var deferred: [DeferredSubscriber] = []
        var lockMask: UInt32 = 0
        var hasKeys = false
        forEach { stop in
            deferred += stop.routes.deferred
            lockMask |= stop.routes.lockMask
            hasKeys = hasKeys || stop.routes.hasKeys
        }
        return deferred.isEmpty ? nil : StopLines(deferred, event, lockMask: lockMask, hasKeys: hasKeys)
    }
}

/// The lines that want one event, with the keys that user code has made for it; it makes none while outboxes hold the
/// event.
struct StopLines {
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

    /// Puts the event into all lines in one step, then wakes those that need it.
    ///
    /// - Parameter isTakenOver: called between the two.
    func post(_ context: EventContext, _ tracker: HandlingTracker?, isTakenOver: () -> Void) {
        subscribers.post(event, .full(context), tracker, lockMask: lockMask, keys: keys, isTakenOver: isTakenOver)
    }
}
