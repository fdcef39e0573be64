public import BridgeControl

/// What a client can ask about the names of events that a host knows.
extension BridgeClient {
    /// The most names that a host has room for.
    private static let mostNames = 65_536

    /// The names of the events that the host and its peers want or publish, each with the processes that want or
    /// publish it, in the order of their bytes.
    ///
    /// The list has each name in a specification, and each name that a process has asked for, except those of commands
    /// and answers. The host answers in pieces: a name that comes or goes between two answers may be listed or not.
    /// - Parameter limit: how long this waits for each answer.
    /// - Throws: ``BridgeClientError``, also if the host lists names out of order; `CancellationError` if the task is
    ///   cancelled.
    public func eventNames(within limit: Duration = .seconds(10)) async throws -> [EventNameReport] {
        var names: [EventNameReport] = []
        while true {
            let command = EventNamesRequested(after: names.last?.name ?? "")
            let answer = try await ask(command, awaiting: EventNamesReported.self, within: limit)
            let order = [command.after] + answer.names.map(\.name)
            guard answer.names.count <= EventNamesReported.mostNames,
                names.count + answer.names.count <= Self.mostNames,
                zip(order, order.dropFirst()).allSatisfy({ $0.utf8.lexicographicallyPrecedes($1.utf8) }),
                answer.isComplete || !answer.names.isEmpty
            else { throw BridgeClientError(.refused, "the host at \(core.path) lists its events in no order") }
            names += answer.names
            if answer.isComplete { return names }
        }
    }
}
