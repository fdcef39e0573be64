import Supervision

/// Giving a running bridge other workers.
extension BridgeHost {
    /// Brings the bridge to these workers, and leaves alone the workers that stay as they are.
    ///
    /// ```swift
    /// let changes = try await bridge.apply(specifications)
    /// ```
    ///
    /// The bridge goes by names. It starts a new worker, stops a worker that is gone, and replaces a worker whose
    /// specification has changed, as ``replace(_:with:handingOverWithin:)`` does. The processes of the others go on. It
    /// first looks for all mistakes that can be known; if there is one, it changes nothing.
    ///
    /// Events flow all the while. From one moment on, workers that are gone get nothing new, and what new workers
    /// subscribe to is kept for them: an event goes either by the old workers or by the new ones. Workers that are gone
    /// have `limit` for what is on its way to them and from them. Then they go down by their own shutdown, all at once,
    /// and what they leave becomes dead letters. Then the new workers start, behind all others in the order of starts.
    /// Last, the changed workers are replaced, one after the other.
    ///
    /// A worker that does not become ready does not keep the others from it: it stands in ``AppliedChanges/failures``,
    /// and its restart type says what follows. Where a replacement comes to nothing, the process before it goes on. A
    /// worker that had been given up is started anew if its specification has changed. A call waits for the calls
    /// before it. A shutdown comes first: a change that it overtakes is a failure. Cancelling the task gives up
    /// replacements that have not come to handing over, and does not wait for new workers.
    ///
    /// - Parameters:
    ///   - workers: all workers that the bridge is to have. The order of workers that it has already stays as it was.
    ///   - limit: how long a worker that goes, or a process that is replaced, may take to finish what it has, before it
    ///     is asked to drain, or ended by signals.
    /// - Returns: What was done about each, and what has not come about.
    /// - Throws: ``BridgeError``: `invalidSpecification` with every mistake, and with every change that is not possible
    ///   while the bridge runs: what `replace` leaves as it is, and a pool's shape. `wrongState` before the bridge's
    ///   start and after its end.
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
        let problems = mistakes + limit.mistakes(as: "the time to finish within") + conflicts(of: changes, mistakes)
        guard problems.isEmpty else { throw BridgeError(.invalidSpecification, problems.joined(separator: "\n")) }
        return await core.apply(changes, finishingWithin: limit)
    }

    /// Why ``apply(_:finishingWithin:)`` would do nothing, each a sentence; empty if it would go ahead.
    package func mistakes(inApplying workers: [WorkerSpecification]) -> [String] { plan(workers).mistakes }

    private func plan(_ workers: [WorkerSpecification]) -> (WorkerChanges, mistakes: [String]) {
        let changes = WorkerChanges(
            from: core.presentWorkers,
            to: workers,
            automaticShutdown: core.automaticShutdown
        )
        return (changes, changes.mistakes)
    }

    /// The names of new workers that attached clients have; if there are none, all new names are kept for the workers.
    private func conflicts(of changes: WorkerChanges, _ mistakes: [String]) -> [String] {
        guard mistakes.isEmpty, let attached else { return [] }
        return attached.take(changes.added.flatMap(\.members).map(\.name)).map {
            "worker \"\($0)\": a client that is attached has this name"
        }
    }
}
