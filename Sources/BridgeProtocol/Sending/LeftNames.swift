package import DomainEvents

/// Names of events that a peer gets no more, as it is about to go and others have taken its place.
package struct LeftNames: Sendable {
    private let names: Set<EventName>
    private let exceptions: Set<EventName>?

    /// - Parameters:
    ///   - names: what it gets no more.
    ///   - exceptions: what it still may get, if it gets no more of all other names either.
    package init(_ names: Set<EventName>, andAllBut exceptions: Set<EventName>? = nil) {
        self.names = names
        self.exceptions = exceptions
    }

    package func contains(_ name: String) -> Bool {
        let name = EventName(name)
        return names.contains(name) || exceptions.map { !$0.contains(name) } ?? false
    }
}
