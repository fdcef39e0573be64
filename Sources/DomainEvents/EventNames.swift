import Locks

/// The names of all event types that this process has used: one name, one type.
package enum EventNames {
    /// The longest name in UTF-8 bytes: long enough for any type, short enough to be checked before it is trusted.
    package static let maximumBytes = 256

    /// Stands for all events where they are wanted; no event has this name.
    package static let everything = "*"

    private static let lock = Lock()
    // Guarded by `lock`: the compiler cannot see that.
    nonisolated(unsafe) private static var types: [String: any DomainEvent.Type] = [:]

    /// The type's name, after making sure that no other type has it.
    static func register<E: DomainEvent>(_ type: E.Type) -> String {
        let name = E.eventName
        precondition(
            (1...maximumBytes).contains(name.utf8.count),
            "\(String(reflecting: type)) has an event name of \(name.utf8.count) bytes; 1 to \(maximumBytes) are possible"
        )
        if name == everything {
            fatalError("\(String(reflecting: type)) has the event name \"\(name)\", which stands for all events")
        }
        let other: (any DomainEvent.Type)? = lock.withLock {
            if let known = types[name], known != type { return known }
            types[name] = type
            return nil
        }
        if let other {
            // Not `preconditionFailure`: release builds keep its trap and drop its text, and the text is what helps. No peer can
            // bring this about: names from outside are looked up, never registered.
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
