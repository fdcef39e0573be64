import Locks

/// The names of all event types that this process has used: one name, one type.
package enum EventNames {
    private static let lock = Lock()
    // Guarded by `lock`: the compiler cannot see that.
    nonisolated(unsafe) private static var types: [EventName: any DomainEvent.Type] = [:]

    /// The names of the reports that a publisher or its bridge publishes itself, at any time.
    package static let ofReports: Set<EventName> = EventName.set(
        [
            HandlerFailed.eventName, EventRefused.eventName, EventsDropped.eventName, EventDeadLettered.eventName,
            DeadLettersFull.eventName, DeadLetterEvicted.eventName, EventKeyMissing.eventName, EventsTraced.eventName,
        ]
    )

    /// Ends the process, because the program uses a type whose name this publisher has used for untyped events.
    static func stop(_ type: any DomainEvent.Type, usedUntyped name: String) -> Never {
        fatalError(
            """
            the type \(String(reflecting: type)) has the event name "\(name)", which this publisher has used for \
            events without a type; use the type first, or one of the two
            """
        )
    }

    /// Registers the type and returns its name; ends the process if the name is invalid or another type has it.
    static func register<E: DomainEvent>(_ type: E.Type) -> String {
        if type == UntypedEvent.self {
            fatalError("events without a type have names of their own: subscribe with `toEventsNamed:`")
        }
        let name = E.eventName
        // No peer can cause this: a name from outside is looked up, never registered. This is no `precondition`,
        // because a release build would drop the text, which says what to mend.
        if let mistake = EventName.mistake(in: name) {
            fatalError("\(String(reflecting: type)) has the event name \"\(name)\": \(mistake)")
        }
        let other: (any DomainEvent.Type)? = lock.withLock {
            if let known = types[EventName(name)], known != type { return known }
            types[EventName(name)] = type
            return nil
        }
        if let other {
            fatalError(
                """
                two event types have the name "\(name)": \(String(reflecting: other)) and \(String(reflecting: type)); \
                give one of them another `eventName`
                """
            )
        }
        return name
    }
}
