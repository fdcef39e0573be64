import DomainEvents
import EventBridge
import ExampleDomain
import TestSupport

/// What a bridge says about itself and what its workers answer.
final class WorkerReports: Sendable {
    let done = Collected<WorkDone>()
    let ready = Collected<WorkerReady>()
    let exits = Collected<WorkerExited>()
    let gaveUp = Collected<WorkerGaveUp>()
    let deadLettered = Collected<EventDeadLettered>()
    let dropped = Collected<EventsDropped>()
    private let subscriptions: [Subscription]

    init(_ publisher: EventPublisher) {
        subscriptions = [
            publisher.subscribe(to: WorkDone.self) { [done] in done.add($0) },
            publisher.subscribe(to: WorkerReady.self) { [ready] in ready.add($0) },
            publisher.subscribe(to: WorkerExited.self) { [exits] in exits.add($0) },
            publisher.subscribe(to: WorkerGaveUp.self) { [gaveUp] in gaveUp.add($0) },
            publisher.subscribe(to: EventDeadLettered.self) { [deadLettered] in deadLettered.add($0) },
            publisher.subscribe(to: EventsDropped.self) { [dropped] in dropped.add($0) },
        ]
    }

    func end() {
        for subscription in subscriptions { subscription.cancel() }
    }
}
