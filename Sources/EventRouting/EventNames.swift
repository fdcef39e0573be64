import BridgeProtocol
import DomainEvents
import Locks

/// The entries of all event names that this process and its peers use; each name keeps its entry and its number for
/// good.
final class EventNames: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`, but for `numbers`, which has a rule of its own.

    /// How many names attached peers may bring, all together and for good; enough are left for workers and this
    /// process.
    private static let maximumAttached = EventRouter.maximumNames / 4

    private let control: ControlNames
    private let lock = Lock()
    private var byText: [EventName: NamedEvents] = [:]
    /// How many of these names attached peers have brought.
    private var attached = 0
    /// Position is number minus 1; number 0 is ``EventName/everything``.
    private var byNumber: [NamedEvents] = []
    /// The same entries, for the event path.
    private let numbers = NumberTable(capacity: EventRouter.maximumNames)

    init(control: ControlNames) {
        self.control = control
    }

    /// All entries, in the order of their numbers.
    var all: [NamedEvents] { lock.withLock { byNumber } }

    /// The entry with this number, which lives as long as the table; nil if the number was not given out.
    subscript(number: UInt64) -> Unmanaged<NamedEvents>? { numbers[number] }

    /// The entry of a name, if there is one already.
    func known(_ name: String) -> NamedEvents? { lock.withLock { byText[EventName(name)] } }

    /// The entry of a name, made if there is none; nil if the table is full, because peers have made up more names than
    /// any program has.
    func entry(of name: String) -> NamedEvents? {
        lock.withLock {
            if let known = byText[EventName(name)] { return known }
            guard byNumber.count < EventRouter.maximumNames else { return nil }
            let number = UInt64(byNumber.count + 1)
            let made = NamedEvents(name: name, number: number, passage: control.passage(of: EventName(name)))
            byText[EventName(name)] = made
            byNumber.append(made)
            numbers.append(made)
            return made
        }
    }

    /// The entry of a name that a peer brings, made if there is none; nil if the table is full.
    func entry(of name: String, broughtBy route: Route) throws(LinkViolation) -> NamedEvents? {
        let known =
            try lock.withLock { () throws(LinkViolation) in
                if let known = byText[EventName(name)] { return known }
                // An attached peer may come again as often as it likes, so all of them share one count.
                let limit = route.isAttached ? Self.maximumAttached : route.limits.newEventNames
                guard (route.isAttached ? attached : route.newNames) < limit else {
                    throw LinkViolation(
                        """
                        it brings the event name \"\(name.shortened())\"; the limit is \(limit) names that nobody else knows\
                        \(route.isAttached ? ", for all clients together" : "")
                        """
                    )
                }
                if route.isAttached { attached += 1 } else { route.newNames += 1 }
                return nil
            } as NamedEvents?
        return known ?? entry(of: name)
    }
}
