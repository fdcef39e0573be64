public import DomainEvents
import ExampleDomain
import Locks

/// Provides boxes and puts items into them: the example's first backend, the same in the publisher's process and in a
/// worker.
///
/// ```swift
/// let subscriptions = try Provisioning.start(publisher: publisher, store: "boxes.json")
/// ```
///
/// - Each request gets an answer, also a request that cannot be met, and a request whose effect could not be saved.
/// - An answer is published after the state that it reports is on the disk.
/// - A request that comes again (same identity) is done once and answered twice. A request that could not be saved is
///   not remembered and is tried again.
///
/// **Why the handlers run where the events arrive.** An item that was received after a box was ordered must find the
/// box. Events of *one* type keep their order in every context. But two subscriptions that run in tasks or on a queue
/// each have their own waiting events, so the items may be handled before the boxes. Handlers on the publishing thread
/// let no events wait: a link's events are handled one after the other, in the order in which they were published,
/// whatever their types. An event counts as handled when the handlers return, so the state is on the disk before the
/// acknowledgement. The price is that the link's reading thread waits for the disk. For this service that is right: the
/// next request would have to wait anyway. The lock is for publishers that live in the same process and use several
/// threads.
///
/// **Why the store is loaded with the first request.** A worker that replaces another is started beside the old worker,
/// which goes on saving until it has finished its requests. A state that was read at the start would be stale by then,
/// and the next save from it would undo what the old worker has saved meanwhile. The first request comes when the old
/// process has ended, and then no other process writes the file. The new worker reads the file at the start too, but
/// only to check it: a damaged store is better found when the worker starts than when a box is ordered.
public final class Provisioning: @unchecked Sendable {
    // Sendable: `content` is guarded by `lock`; the rest is constant.
    private let publisher: EventPublisher
    private let store: ProvisioningStore
    private let lock = Lock()
    /// The content of the file; nil before the first request, because another process may still write the file.
    private var content: ProvisioningStore.Content?

    /// Checks that the store can be loaded, and begins to handle requests.
    ///
    /// - Parameters:
    ///   - publisher: where requests come from and answers go to.
    ///   - store: the path of the file; the file is made with the first request, its directories at once.
    /// - Throws: ``FileError`` if the directory cannot be made or the file is not what this service has written.
    /// - Returns: The subscriptions, which keep the service alive: it ends when they are released.
    public static func start(publisher: EventPublisher, store: String) throws -> [Subscription] {
        let provisioning = try Provisioning(publisher: publisher, store: ProvisioningStore(path: store))
        return [
            publisher.subscribe(to: BoxOrdered.self) { provisioning.handle($0) },
            publisher.subscribe(to: ItemReceived.self) { provisioning.handle($0) },
            publisher.subscribe(to: BoxRemovalRequested.self) { provisioning.handle($0) },
            publisher.subscribe(to: ItemRemovalRequested.self) { provisioning.handle($0) },
        ]
    }

    private init(publisher: EventPublisher, store: ProvisioningStore) throws {
        self.publisher = publisher
        self.store = store
        // The content is not kept, because this process may replace another, which goes on saving.
        _ = try store.load()
    }

    // MARK: - Requests

    private func handle(_ event: BoxOrdered) {
        handle(event) {
            $0.order(event)
        } failure: { reason in
            .boxProvisioningFailed(.init(label: event.label, capacity: event.capacity, reason: reason))
        }
    }

    private func handle(_ event: ItemReceived) {
        handle(event) {
            $0.receive(event)
        } failure: { reason in
            .itemDistributionFailed(.init(title: event.title, reason: reason))
        }
    }

    private func handle(_ event: BoxRemovalRequested) {
        handle(event) {
            $0.remove(event)
        } failure: { reason in
            .boxRemovalFailed(.init(boxID: event.boxID, reason: reason))
        }
    }

    private func handle(_ event: ItemRemovalRequested) {
        handle(event) {
            $0.remove(event)
        } failure: { reason in
            .itemRemovalFailed(.init(itemID: event.itemID, boxID: event.boxID, reason: reason))
        }
    }

    // MARK: - The way of every request

    private func handle<Request: DomainEvent>(
        _ request: Request,
        work: (inout Warehouse) -> [ProvisioningOutcome],
        failure: (_ reason: String) -> ProvisioningOutcome
    ) {
        let context = EventContext.current
        lock.withLock {
            let content: ProvisioningStore.Content
            do {
                content = try loaded()
            } catch {
                publish([failure("the store could not be loaded: \(error)")])
                return
            }
            if let context, let outcomes = content.handled.outcomes(of: context.id) {
                publish(outcomes)
                return
            }
            var next = content
            var outcomes: [ProvisioningOutcome]
            do {
                // A bridge has validated the events that it decoded; an event of this process comes as it was made.
                try request.validate()
                outcomes = work(&next.warehouse)
            } catch {
                outcomes = [failure("\(error)")]
            }
            if let context { next.handled.remember(outcomes, of: context) }
            do {
                try store.save(next)
                self.content = next
            } catch {
                // A failure may be reported even if it was not saved, a success only if it was saved.
                if next.warehouse != content.warehouse { outcomes = [failure("it could not be saved: \(error)")] }
            }
            publish(outcomes)
        }
    }

    /// The content, read from the file with the first request, and kept from then on; the caller holds the lock.
    private func loaded() throws(FileError) -> ProvisioningStore.Content {
        if let content { return content }
        let loaded = try store.load()
        content = loaded
        return loaded
    }

    /// Called inside the lock, so that answers leave in the order of the changes that they report.
    ///
    /// No handler runs inside the lock: an event that a handler publishes is delivered when that handler has returned.
    private func publish(_ outcomes: [ProvisioningOutcome]) {
        for outcome in outcomes { outcome.publish(with: publisher) }
    }
}
