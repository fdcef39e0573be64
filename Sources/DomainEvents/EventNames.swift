import Locks

/// The names of all event types that this process has used: one name, one type.
package enum EventNames {
    private static let lock = Lock()
    // Guarded by `lock`: the compiler cannot see that.
    nonisolated(unsafe) private static var types: [EventName: any DomainEvent.Type] = [:]

    /// The type's name, after making sure that no other type has it.
    static func register<E: DomainEvent>(_ type: E.Type) -> String {
        let name = E.eventName
        // No peer can bring this about: names from outside are looked up, never registered. Not `precondition`: release
        // builds keep its trap and drop its text, and the text is what helps.
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
