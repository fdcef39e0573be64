import DomainEvents
import DomainEventsFoundation
import Foundation
import TestSupport

/// A notification center of its own, a publisher, and a queue that notifications are posted from, which tests can wait
/// for.
final class Scene: Sendable {
    let center = NotificationCenter()
    let publisher: EventPublisher
    private let queue = DispatchQueue(label: "posting")
    let errors = Collected<NotificationError>()
    let adapter: NotificationAdapter
    private let strand: PostingStrand

    init(publisher: EventPublisher = EventPublisher()) {
        self.publisher = publisher
        strand = PostingStrand(publisher, queue)
        adapter = NotificationAdapter(publisher, center: center, postingOn: .queue(queue)) { [errors] in errors.add($0)
        }
    }

    /// Returns when everything that was published before has been posted.
    func waitForPosts() async throws { try await strand.wait() }

    /// Counts the notifications of a name until the scene ends.
    func observe(_ name: String) -> Collected<NotificationContent> {
        let log = Collected<NotificationContent>()
        _ = center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) { notification in
            log.add(NotificationContent(notification))
        }
        return log
    }

    func post(_ name: String, _ userInfo: [AnyHashable: Any]? = nil) {
        center.post(name: Notification.Name(name), object: nil, userInfo: userInfo)
    }
}

/// Waits for a publisher's deliveries on a queue: all of them are one strand, so the last event is handled last.
final class PostingStrand: Sendable {
    private struct PostingStrandMark: DomainEvent {}

    private let publisher: EventPublisher
    private let subscription: Subscription

    init(_ publisher: EventPublisher, _ queue: DispatchQueue) {
        self.publisher = publisher
        subscription = publisher.subscribe(to: PostingStrandMark.self, on: .queue(queue)) { _ in }
    }

    func wait() async throws { try await publisher.deliver(PostingStrandMark(), within: .seconds(50)) }
}

/// The content of a notification for a test; the notification itself must not go to other threads.
struct NotificationContent: @unchecked Sendable {
    // Sendable: the dictionaries of these tests hold values only.
    let userInfo: [AnyHashable: Any]
    let posted: PostedEvent?

    init(_ notification: Notification) {
        userInfo = notification.userInfo ?? [:]
        posted = notification.object as? PostedEvent
    }

    subscript<T>(_ key: String, as type: T.Type = T.self) -> T? { userInfo[key] as? T }
}
