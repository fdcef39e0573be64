public import BridgeControl

/// How a client has events of a journal sent to a worker again.
extension BridgeClient {
    /// Has the host send events to one worker again, behind all that lies in the worker's outbox, and returns when the
    /// worker has settled them.
    ///
    /// The worker gets the events in this order, with their identities, times and causes, and `EventContext.isReplay`
    /// is true in its handlers. No other process gets them, and no journal of the host records them. If the worker ends
    /// meanwhile, its next process gets what is not settled.
    /// - Parameters:
    ///   - events: at most `EventsReplayRequested.mostEvents`, with payloads of at most
    ///     `EventsReplayRequested.mostBytes` together, and none of them twice; a single event may be larger.
    ///   - worker: the name of a worker, or of one of a pool's members.
    ///   - hasMore: whether this client's replay to the worker goes on after these events. If so, other clients that
    ///     replay to this worker get the outcome `busy`, so their events do not come in between. That ends with a call
    ///     whose `hasMore` is false (it may have no events), with the outcome `refused`, or with the client's link.
    ///   - limit: how long this waits for the answer; the command is not taken back after that.
    /// - Returns: What became of the events; an event that was not handled is no error.
    /// - Throws: ``BridgeClientError``; `CancellationError` if the task is cancelled (the command still stands).
    public func replay(
        _ events: [ReplayedEvent],
        to worker: String,
        hasMore: Bool = false,
        within limit: Duration = .seconds(600)
    ) async throws -> ReplayOutcome {
        let command = EventsReplayRequested(worker: worker, events: events, hasMore: hasMore)
        return try await ask(command, awaiting: EventsReplayed.self, within: limit).outcome
    }
}
