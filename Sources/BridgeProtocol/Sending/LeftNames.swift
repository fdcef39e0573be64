package import DomainEvents

/// Names of events that a peer no longer gets, because it is about to go and other processes have taken its place.
package struct LeftNames: Sendable {
    private let names: Set<EventName>
    private let exceptions: Set<EventName>?

    /// - Parameters:
    ///   - names: the names that the peer no longer gets.
    ///   - exceptions: the only names that the peer still gets; nil if it gets all but `names`.
    package init(_ names: Set<EventName>, andAllBut exceptions: Set<EventName>? = nil) {
        self.names = names
        self.exceptions = exceptions
    }

    package func contains(_ name: String) -> Bool {
        let name = EventName(name)
        return names.contains(name) || exceptions.map { !$0.contains(name) } ?? false
    }
}
