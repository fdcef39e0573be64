/// A publisher that an event passes on its way, with its routes at this moment.
struct DeliveryStop {
    let channel: AnyEventChannel
    let routes: Routes
    let publisher: EventPublisher
}

/// All publishers that an event passes: nearly always one, for which no memory is taken.
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

    /// Puts the event into every line that wants it, in one step.
    func post(_ event: RawEvent, context: EventContext, tracker: HandlingTracker?) {
        if others.isEmpty {
            let routes = first.routes
            guard !routes.deferred.isEmpty else { return }
            routes.deferred.post(event, .full(context), tracker, lockMask: routes.lockMask, hasKeys: routes.hasKeys)
        } else {
            var deferred: [DeferredSubscriber] = []
            var lockMask: UInt32 = 0
            var hasKeys = false
            forEach { stop in
                deferred += stop.routes.deferred
                lockMask |= stop.routes.lockMask
                hasKeys = hasKeys || stop.routes.hasKeys
            }
            guard !deferred.isEmpty else { return }
            deferred.post(event, .full(context), tracker, lockMask: lockMask, hasKeys: hasKeys)
        }
    }
}
