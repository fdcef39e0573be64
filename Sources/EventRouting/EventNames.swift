import BridgeProtocol
import DomainEvents
import Locks

/// The topics of all event names that this process and its peers use; each name keeps its topic and its number for
/// good.
final class EventNames: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, except `numbers`, whose rule is in ``TopicTable``.

    /// How many names all attached peers together may bring in this process's life; the rest is left for workers and
    /// this process.
    private static let maximumAttached = EventRouter.maximumNames / 4

    private let control: ControlNames
    private let lock = Lock()
    private var byText: [EventName: Topic] = [:]
    /// How many of the names in `byText` attached peers have brought.
    private var attached = 0
    /// The topics in the order of their numbers, from 1; number 0 is ``EventName/everything``.
    private var byNumber: [Topic] = []
    /// The same topics by number, for the event path.
    private let numbers = TopicTable(capacity: EventRouter.maximumNames)
    /// Called with each name and its number; nil if nothing keeps them.
    private var keeper: (@Sendable (_ name: String, _ number: UInt64) -> Void)?

    init(control: ControlNames) {
        self.control = control
    }

    /// All topics, in the order of their numbers.
    var all: [Topic] { lock.withLock { byNumber } }

    /// Tells `keeper` all names and their numbers, and from now on each new one before any peer learns of it.
    ///
    /// - Parameter keeper: called with the lock held, so it calls nothing here.
    func tell(_ keeper: @escaping @Sendable (_ name: String, _ number: UInt64) -> Void) {
        lock.withLock {
            for topic in byNumber { keeper(topic.name, topic.number) }
            self.keeper = keeper
        }
    }

    /// The topic with this number, which lives as long as the table; nil if the number was not given out.
    subscript(number: UInt64) -> Unmanaged<Topic>? { numbers[number] }

    /// The topic of a name; nil if the name has no topic yet.
    func known(_ name: String) -> Topic? { lock.withLock { byText[EventName(name)] } }

    /// The topic of a name, made at the first call; nil if the table is full, because peers have made up more names
    /// than any program has.
    func topic(of name: String) -> Topic? {
        lock.withLock {
            if let known = byText[EventName(name)] { return known }
            guard byNumber.count < EventRouter.maximumNames else { return nil }
            let number = UInt64(byNumber.count + 1)
            let made = Topic(name: name, number: number, scope: control.scope(of: EventName(name)))
            byText[EventName(name)] = made
            byNumber.append(made)
            numbers.append(made)
            keeper?(name, number)
            return made
        }
    }

    /// The topic of a name that a peer brings, made at the first call; nil if the table is full.
    func topic(of name: String, broughtBy peer: Peer) throws(LinkViolation) -> Topic? {
        let known =
            try lock.withLock { () throws(LinkViolation) in
                if let known = byText[EventName(name)] { return known }
                // An attached peer may come back any number of times, so all attached peers share one count.
                let limit = peer.isAttached ? Self.maximumAttached : peer.limits.newEventNames
                guard (peer.isAttached ? attached : peer.newNames) < limit else {
                    throw LinkViolation(
                        """
                        it brings the event name \"\(name.shortened())\"; the limit is \(limit) names that no other process knows\
                        \(peer.isAttached ? ", for all clients together" : "")
                        """
                    )
                }
                if peer.isAttached { attached += 1 } else { peer.newNames += 1 }
                return nil
            } as Topic?
        return known ?? topic(of: name)
    }
}
