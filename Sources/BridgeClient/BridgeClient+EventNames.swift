public import BridgeControl

/// What a client can ask of the names of events that a host knows.
extension BridgeClient {
    /// As many names as a host has room for.
    private static let mostNames = 65_536

    /// Which events are wanted or published in the host and its workers, and by whom, in the order of the names' bytes.
    ///
    /// What was never wanted by name, and what no specification lists, is not among them. The host answers in pieces: a
    /// name that comes or goes meanwhile may be there or not.
    /// - Parameter limit: how long it waits for each answer.
    /// - Throws: ``BridgeClientError``, also if the host lists names in no order; `CancellationError` if the task is
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
