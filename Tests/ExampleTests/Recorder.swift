import DomainEvents
import ExampleDomain
import Locks

/// Keeps every answer of the services, in the order of their arrival.
final class Recorder: @unchecked Sendable {
    // Sendable: `events` is guarded by `lock`; `subscriptions` is set once, before the recorder is shared.
    private let lock = Lock()
    private var events: [any DomainEvent] = []
    private var subscriptions: [Subscription] = []

    init(_ publisher: EventPublisher) {
        subscriptions = [
            record(BoxProvisioned.self, publisher), record(BoxProvisioningFailed.self, publisher),
            record(BoxRemoved.self, publisher), record(BoxRemovalFailed.self, publisher),
            record(BoxItemsRedistributionFailed.self, publisher), record(ItemProvisioned.self, publisher),
            record(ItemDistributionFailed.self, publisher), record(ItemMoved.self, publisher),
            record(ItemRemoved.self, publisher), record(ItemRemovalFailed.self, publisher),
            record(CanvasSaved.self, publisher), record(SavingCanvasFailed.self, publisher),
            record(HandlerFailed.self, publisher),
        ]
    }

    private func record<E: DomainEvent>(_ type: E.Type, _ publisher: EventPublisher) -> Subscription {
        publisher.subscribe(to: type) { [weak self] (event: E) in
            guard let self else { return }
            lock.withLock { events.append(event) }
        }
    }

    /// The names of all answers so far.
    var names: [String] { lock.withLock { events.map { type(of: $0).eventName } } }

    func all<E: DomainEvent>(_ type: E.Type) -> [E] {
        lock.withLock { events.compactMap { $0 as? E } }
    }

    /// The answers since the last call.
    func take() -> [any DomainEvent] {
        lock.withLock {
            defer { events = [] }
            return events
        }
    }
}
