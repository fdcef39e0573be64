import BridgeProtocol
import BridgeTransport
import DomainEvents

/// An event on its way out: where it lies in outboxes, and what is to be seen to when it has left.
struct Departure: HeldEvent {
    let name: String
    let context: EventContext
    let router: EventRouter
    /// The outboxes that keep it until it is released.
    var places: [Route.Place] = []
    /// What policies have taken out for it.
    var displaced: [(route: Route, event: Displaced)] = []
    /// Those who have not taken it.
    var losses: [NamedEvents.Loss] = []
    /// Whether losses are announced that are no dead letters; otherwise the caller is told.
    var announcesLosses = true
    /// Whether one of the lines is busy.
    private var isGathered = false

    init(of name: String, _ context: EventContext, by router: EventRouter) {
        self.name = name
        self.context = context
        self.router = router
    }

    mutating func release() {
        let now = context.nanosecondsSinceEpoch
        // A thread that writes to one line after the other comes back to the first when the last write to that is long
        // past: one busy line makes all busy.
        for place in places where place.link.release(place.sequence, at: now) { isGathered = true }
    }

    func flush() {
        for place in places { place.link.flush(at: context.nanosecondsSinceEpoch, isGathered: isGathered) }
        for (route, event) in displaced { router.wasDisplaced(event, at: route) }
        // A dead letter tells of the event, and so comes behind it.
        for loss in losses {
            let isKept = router.keeps(loss)
            if !isKept, announcesLosses { router.announce(loss, of: name) }
        }
    }
}
