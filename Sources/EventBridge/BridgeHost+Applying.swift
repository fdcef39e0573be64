import Supervision

/// Changing the workers of a running bridge.
extension BridgeHost {
    /// Gives the bridge these workers, and leaves alone the workers whose specifications have not changed.
    ///
    /// ```swift
    /// let changes = try await bridge.apply(specifications)
    /// ```
    ///
    /// The bridge compares workers by name. It starts a new worker, stops an unlisted worker, and replaces a worker
    /// whose specification has changed, as ``replace(_:with:handingOverWithin:)`` does. The processes of the others go
    /// on. The bridge first looks for mistakes; if it finds one, it changes nothing.
    ///
    /// Events flow all the while. From one moment on, removed workers get no new events of their specifications, and
    /// the bridge keeps events for the new workers: each event goes either to the old workers or to the new ones.
    /// Removed workers have `limit` to finish the events that are on their way to or from them. When all of them have,
    /// they go down together, each by its own shutdown sequence, and events that they leave become dead letters. Then
    /// the new workers start; in the order of starts they come after all others. Last, the changed workers are
    /// replaced, one after the other.
    ///
    /// If a new worker does not become ready, ``AppliedChanges/failures`` names it, and its restart type says what
    /// follows. It holds up no other worker, except new ones after it with `StartOrder.inSequence`. If a replacement
    /// fails, the present process goes on, or another start follows. A worker that had been given up is started anew if
    /// its specification has changed. A call waits for the calls before it. A shutdown takes precedence: a change that
    /// it prevents is a failure. Cancelling the task gives up replacements that have not begun to hand over, and ends
    /// the wait for new workers.
    ///
    /// - Parameters:
    ///   - workers: all workers that the bridge is to have. Its present workers keep their order.
    ///   - limit: how long the removed workers may take to finish their events before they are asked to drain, and how
    ///     long a replaced process may take to finish before it is ended by signals.
    /// - Returns: What was done about each worker, and what has failed.
    /// - Throws: ``BridgeError``. `invalidSpecification` names every mistake, and every change that is not possible
    ///   while the bridge runs: what `replace` cannot change either, such as the number of members of a pool. If there
    ///   is none of these, it names every new worker whose name a present process still has. If there is none of those
    ///   either, it names every new worker whose name a client has. `wrongState` is thrown before the bridge's start
    ///   and from the beginning of its shutdown.
    @discardableResult
    public func apply(
        _ workers: [WorkerSpecification],
        finishingWithin limit: Duration = .seconds(30)
    ) async throws(BridgeError) -> AppliedChanges {
        await core.changes.begin()
        defer { core.changes.end() }
        guard lifecycle.isRunning else {
            throw BridgeError(.wrongState, "the bridge does not run: it was not started, or is being shut down")
        }
        let (changes, mistakes) = plan(workers)
        var problems = mistakes + limit.mistakes(as: "the time to finish within")
        // Names are reserved last: a reserved name stays reserved, and a refused change must reserve none.
        if problems.isEmpty { problems = conflicts(of: changes) }
        guard problems.isEmpty else { throw BridgeError(.invalidSpecification, problems.joined(separator: "\n")) }
        return await core.apply(changes, finishingWithin: limit)
    }

    /// Why ``apply(_:finishingWithin:)`` would refuse these workers, a sentence for each reason; empty if it would not.
    package func mistakes(inApplying workers: [WorkerSpecification]) -> [String] { plan(workers).mistakes }

    private func plan(_ workers: [WorkerSpecification]) -> (WorkerChanges, mistakes: [String]) {
        let changes = WorkerChanges(
            from: core.presentWorkers,
            to: workers,
            automaticShutdown: core.rules.automaticShutdown
        )
        return (changes, changes.mistakes)
    }

    /// Reserves the new workers' names, or none if clients have some of them; returns a mistake for each name in use.
    private func conflicts(of changes: WorkerChanges) -> [String] {
        guard let attached else { return [] }
        return attached.take(changes.added.flatMap(\.members).map(\.name)).map {
            "worker \"\($0)\": a client has this name"
        }
    }
}
